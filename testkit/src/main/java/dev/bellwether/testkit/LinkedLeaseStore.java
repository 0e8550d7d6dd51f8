package dev.bellwether.testkit;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A lease store at the far end of a {@link Link}: for stores without a network of their own, such as one in memory or
 * in a file.
 *
 * <p>Thread-safe. While the way to it is cut, requests are held and carried out after {@link #heal}, as late as that
 * is; while the way from it is cut, requests are carried out and their answers, and the views of watches, are held.
 * Neither ever fails, unless by {@link #reset} or {@link #refuse}. Closing closes the store behind it only if so made.
 */
public final class LinkedLeaseStore implements LeaseStore, Link {
    private final LeaseStore store;
    private final boolean closes;
    private final Pipe requests = new Pipe();
    private final Pipe answers = new Pipe();
    private final Set<Expected<?>> pending = new HashSet<>(); // guarded by this

    private volatile boolean refusing;

    private LinkedLeaseStore(LeaseStore store, boolean closes) {
        this.store = store;
        this.closes = closes;
    }

    /** Links to a store of its own, which is closed along with the link. */
    public static LinkedLeaseStore to(LeaseStore store) {
        return new LinkedLeaseStore(store, true);
    }

    /** Links to a store that others share, which stays open. */
    public static LinkedLeaseStore toShared(LeaseStore store) {
        return new LinkedLeaseStore(store, false);
    }

    // ---------------------------------------------------------------- the link

    @Override
    public void cut(Way way) {
        requests.cut(way != Way.ANSWERS);
        answers.cut(way != Way.REQUESTS);
    }

    @Override
    public void heal() {
        refusing = false;
        requests.cut(false);
        answers.cut(false);
    }

    /** From now on fails each request at once, as when no server listens; what is under way fails too. */
    public void refuse() {
        refusing = true;
        reset();
    }

    /** Lets everything take this long, each way, from now on. */
    public void delay(Duration each) {
        requests.delay(each);
        answers.delay(each);
    }

    /** Fails whatever is under way with an {@link UnavailableException}, and drops what is held. */
    @Override
    public void reset() {
        requests.drop();
        answers.drop();
        List<Expected<?>> broken;
        synchronized (this) {
            broken = List.copyOf(pending);
            pending.clear();
        }
        broken.forEach(one -> one.fail("connection reset"));
    }

    private <T> CompletionStage<T> ask(Supplier<CompletionStage<T>> request) {
        var expected = this.<T>expect();
        if (refusing) {
            expected.fail("connection refused");
        } else {
            requests.carry(() -> request.get().whenComplete(expected));
        }
        return expected.answer;
    }

    private <T> Expected<T> expect() {
        var expected = new Expected<T>();
        synchronized (this) {
            pending.add(expected);
        }
        return expected;
    }

    /** An answer that has not arrived. */
    private final class Expected<T> implements BiConsumer<@Nullable T, @Nullable Throwable> {
        private final CompletableFuture<T> answer = new CompletableFuture<>();

        private void fail(String how) {
            synchronized (LinkedLeaseStore.this) {
                pending.remove(this);
            }
            answer.completeExceptionally(new UnavailableException(how));
        }

        @Override
        public void accept(@Nullable T value, @Nullable Throwable error) {
            answers.carry(() -> {
                synchronized (LinkedLeaseStore.this) {
                    pending.remove(this);
                }
                if (error != null) {
                    answer.completeExceptionally(error);
                } else if (value != null) {
                    answer.complete(value);
                }
            });
        }
    }

    // ---------------------------------------------------------------- the store

    @Override
    public String describe() {
        return store.describe();
    }

    @Override
    public boolean setsTokens() {
        return store.setsTokens();
    }

    @Override
    public CandidacyConfig completed(CandidacyConfig config) {
        return store.completed(config);
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        store.check(election, config);
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        return ask(() -> store.acquire(claim));
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        var expected = leases.stream().map(lease -> this.<Answer>expect()).toList();
        if (refusing) {
            expected.forEach(one -> one.fail("connection refused"));
        } else {
            requests.carry(() -> {
                var given = store.renew(leases);
                for (var i = 0; i < given.size(); i++) {
                    given.get(i).whenComplete(expected.get(i));
                }
            });
        }
        return expected.stream()
                .map(one -> (CompletionStage<Answer>) one.answer)
                .toList();
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        return ask(() -> store.release(claim));
    }

    @Override
    public CompletionStage<View> read(String election) {
        return ask(() -> store.read(election));
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        return store.watch(election, view -> answers.carry(() -> watcher.accept(view)));
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return ask(() -> store.order(election, order));
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return ask(() -> store.note(election, token, expected, note));
    }

    @Override
    public Optional<String> handOverObjection() {
        return store.handOverObjection();
    }

    @Override
    public Optional<String> proclaimObjection() {
        return store.proclaimObjection();
    }

    @Override
    public boolean listsCandidates() {
        return store.listsCandidates();
    }

    @Override
    public CompletionStage<List<String>> list() {
        return ask(store::list);
    }

    @Override
    public void close() {
        if (closes) {
            store.close();
        }
    }

    /**
     * One way. What is carried arrives in order, on the thread that sends it, that heals, or that waits out the delay.
     */
    private static final class Pipe {
        private final Deque<Runnable> held = new ArrayDeque<>(); // guarded by this
        private boolean cut; // guarded by this
        private boolean delivering; // guarded by this
        private long delayNanos; // guarded by this

        void carry(Runnable message) {
            long nanos;
            synchronized (this) {
                nanos = delayNanos;
            }
            if (nanos == 0) {
                arrive(message);
            } else {
                CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS).execute(() -> arrive(message));
            }
        }

        synchronized void delay(Duration each) {
            delayNanos = each.toNanos();
        }

        void cut(boolean cut) {
            synchronized (this) {
                this.cut = cut;
            }
            deliver();
        }

        synchronized void drop() {
            held.clear();
        }

        private void arrive(Runnable message) {
            synchronized (this) {
                held.add(message);
            }
            deliver();
        }

        /** One thread delivers at a time, and without the lock: a message may send others. */
        private void deliver() {
            while (true) {
                Runnable next;
                synchronized (this) {
                    if (cut || delivering || held.isEmpty()) {
                        return;
                    }
                    next = held.remove();
                    delivering = true;
                }
                try {
                    next.run();
                } finally {
                    synchronized (this) {
                        delivering = false;
                    }
                }
            }
        }
    }
}
