package dev.bellwether.testkit;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.LeaseStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** The memory backend as if it were a server: every client reaches the one store through a link of its own. */
class MemoryInfrastructure implements Infrastructure {
    private final LeaseStore store;
    private final List<LinkedLeaseStore> links = new CopyOnWriteArrayList<>();

    MemoryInfrastructure() {
        this(new MemoryLeaseStore(Clock.system()));
    }

    MemoryInfrastructure(LeaseStore store) {
        this.store = store;
    }

    /** Returns the store as one more client has it. */
    LeaseStore client() {
        return store;
    }

    final void refuseAll() {
        links.forEach(LinkedLeaseStore::refuse);
    }

    // tag::infrastructure
    @Override
    public String describe() {
        return "memory";
    }

    @Override
    public Duration lease() {
        return Duration.ofMillis(600);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return connectLinked(config).elections();
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var link = LinkedLeaseStore.toShared(client());
        links.add(link);
        return new Linked(Elections.over(link, config), link);
    }

    @Override
    public Map<String, Long> leftovers() {
        var elections = store.list().toCompletableFuture().join();
        var candidates = elections.stream()
                .mapToLong(election -> store.read(election)
                        .toCompletableFuture()
                        .join()
                        .candidates()
                        .size())
                .sum();
        return Map.of("elections", (long) elections.size(), "candidates", candidates);
    }
    // end::infrastructure

    // tag::server
    @Override
    public void restartServer() {
        links.forEach(LinkedLeaseStore::refuse);
        Eventually.throughout("down for a while", lease().dividedBy(2), () -> true);
        links.forEach(LinkedLeaseStore::heal);
    }

    @Override
    public void pauseServer() {
        links.forEach(LinkedLeaseStore::cut);
    }

    @Override
    public void resumeServer() {
        links.forEach(LinkedLeaseStore::heal);
    }
    // end::server
}
