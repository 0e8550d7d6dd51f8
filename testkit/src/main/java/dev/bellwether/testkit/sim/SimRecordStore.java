package dev.bellwether.testkit.sim;

import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** A store of records as one process reaches it: through the network. Confined to the world. */
final class SimRecordStore implements RecordStore {
    private final World world;
    private final SimProcess process;
    private final MemoryRecordStore records;
    private final SimCalls calls;
    private final @Nullable RequestLimiter limiter; // none where the store is fast
    private final List<Watched> open = new ArrayList<>();
    private final Map<RecordKey, List<Found>> seen = new HashMap<>(); // what may be told once more

    SimRecordStore(World world, SimProcess process, MemoryRecordStore records, int underWay) {
        this.world = world;
        this.process = process;
        this.records = records;
        calls = new SimCalls(world, process);
        limiter = underWay == Integer.MAX_VALUE ? null : new RequestLimiter(underWay, process.clock());
    }

    @Override
    public String describe() {
        return "simulated records";
    }

    @Override
    public RecordTraits traits() {
        return records.traits();
    }

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        return call(urgency, timeout, "read " + key.parts(), () -> records.read(key, urgency, timeout))
                .thenApply(found -> {
                    seen.computeIfAbsent(key, absent -> new ArrayList<>()).add(found);
                    return found;
                });
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        return call(
                urgency,
                timeout,
                "write of " + key.parts() + " over " + expected + ": " + draft.text(),
                () -> records.write(key, expected, draft, urgency, timeout).thenApply(written -> {
                    if (written.done() && !draft.leader().isEmpty()) {
                        process.took(Fields.parse(draft.text()).text("nonce"));
                    }
                    // some stores say when, and others do not
                    return written.done() && written.revision() % 2 == 0
                            ? Written.at(written.revision(), Instant.EPOCH)
                            : written;
                }));
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        var unused = call(
                Urgency.LIST,
                timeout,
                "removal of " + key.parts(),
                () -> records.remove(key, timeout).thenApply(done -> true));
        return CompletableFuture.completedStage(true); // who closes waits for this, in real time
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        return call(Urgency.LIST, timeout, "list", () -> records.list(beginning, parts, timeout));
    }

    @Override
    public CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return call(Urgency.LOOK, timeout, "highest revision", () -> records.reached(key, timeout));
    }

    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        var remote = new RemoteWatch<Found>(world, process, told -> records.watch(key, told), heard);
        remote.send();
        var watched = new Watched(key, remote);
        open.add(watched);
        return () -> {
            open.remove(watched);
            remote.close();
        };
    }

    /** Tells this process once more of something that was so. */
    void repeat(RandomGenerator random) {
        if (!open.isEmpty()) {
            var whom = open.get(random.nextInt(open.size()));
            var those = seen.getOrDefault(whom.key, List.of(Found.NOTHING));
            var what = those.get(random.nextInt(those.size()));
            world.network().answer(process, "an old notification", () -> whom.watch.tell(what));
        }
    }

    private record Watched(RecordKey key, RemoteWatch<Found> watch) {}

    @Override
    public void close() {
        world.server().disconnected(process);
    }

    private <T> CompletionStage<T> call(
            Urgency urgency, Duration timeout, String what, Supplier<CompletionStage<T>> request) {
        Supplier<T> arrived = () -> request.get().toCompletableFuture().join();
        var crowd = limiter;
        if (crowd == null) {
            return calls.call(what, arrived, String::valueOf);
        }
        var deadline = process.clock().nanos() + timeout.toNanos();
        return crowd.pass(
                urgency,
                deadline,
                () -> calls.call(what, deadline - process.clock().nanos(), arrived, String::valueOf),
                () -> new UnavailableException("not asked within " + timeout + ": " + what));
    }
}
