package dev.bellwether.testkit;

import dev.bellwether.Candidacy;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * A memory server with one fault, or none, and little patience: so many facts must fail here, and failing takes that
 * long.
 */
final class BrokenInfrastructure extends MemoryInfrastructure {
    /** Within the patience and above the bound, on a machine that is calm. */
    private static final Duration CLOSES_LATER = Duration.ofMillis(1_700);

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
        if (fault == Fault.LEAKS_A_FILE_PER_CLIENT) {
            store.leakAFile();
        }
        var linked = super.connectLinked(config);
        return switch (fault == null ? Fault.GRANTS_WHAT_IS_HELD : fault) {
            case FAILS_AGAIN_AFTER_AN_OUTAGE -> new Linked(linked.elections(), failingOnceAfter(linked.link()));
            case CLOSES_LATE, CLOSE_THROWS ->
                new Linked(
                        like(
                                Elections.class,
                                linked.elections(),
                                (name, stood) -> stood instanceof Candidacy candidacy ? badlyClosed(candidacy) : stood),
                        linked.link());
            default -> linked;
        };
    }

    private Link failingOnceAfter(Link link) {
        return new Link() {
            @Override
            public void cut(Way way) {
                link.cut(way);
            }

            @Override
            public void reset() {
                link.reset();
            }

            @Override
            public void heal() {
                link.heal();
                store.failOneRenewal();
            }
        };
    }

    private Candidacy badlyClosed(Candidacy candidacy) {
        return like(Candidacy.class, candidacy, (name, value) -> {
            if (name.equals("close")) {
                if (fault == Fault.CLOSE_THROWS) {
                    throw new IllegalStateException("thrown on purpose");
                }
                LockSupport.parkNanos(CLOSES_LATER.toNanos() + 3 * LeadershipAuditor.stallNanos());
            }
            return value;
        });
    }

    /** The same, but for what is made of the values that its methods return. */
    private static <T> T like(Class<T> type, T sound, BiFunction<String, @Nullable Object, @Nullable Object> made) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> made.apply(method.getName(), method.invoke(sound, arguments))));
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
        if (fault == Fault.RESTART_REFUSES_WHO_WAS_THERE) {
            refuseAll();
            return;
        }
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
