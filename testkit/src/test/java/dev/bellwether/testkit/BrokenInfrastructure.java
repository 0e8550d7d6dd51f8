package dev.bellwether.testkit;

import dev.bellwether.ElectionsConfig;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * A memory server with one fault, or none, and little patience: so many facts must fail here, and failing takes that
 * long.
 */
final class BrokenInfrastructure extends MemoryInfrastructure {
    private final @Nullable Fault fault;
    private final BrokenLeaseStore store;
    private final CountDownLatch closed = new CountDownLatch(1);

    BrokenInfrastructure(@Nullable Fault fault) {
        this(fault, new BrokenLeaseStore(fault));
    }

    private BrokenInfrastructure(@Nullable Fault fault, BrokenLeaseStore store) {
        super(store);
        this.fault = fault;
        this.store = store;
    }

    @Override
    public String describe() {
        return store.describe();
    }

    @Override
    public Duration lease() {
        return Duration.ofMillis(400);
    }

    @Override
    public Duration longLease() {
        return Duration.ofSeconds(3);
    }

    @Override
    public Duration patience() {
        return Duration.ofSeconds(2);
    }

    @Override
    public int cycles() {
        return 100;
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        if (fault == Fault.LEAKS_A_THREAD_PER_CLIENT) {
            var leak = new Thread(this::idle, "leak");
            leak.setDaemon(true);
            leak.start();
        }
        return super.connectLinked(config);
    }

    private void idle() {
        try {
            closed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void restartServer() {
        store.restarted();
        super.restartServer();
    }

    @Override
    public void resumeServer() {
        store.resumed();
        super.resumeServer();
    }

    @Override
    public void close() {
        closed.countDown();
        store.mend();
    }
}
