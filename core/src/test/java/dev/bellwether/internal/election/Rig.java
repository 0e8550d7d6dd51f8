package dev.bellwether.internal.election;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.Metrics;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** One process with a clock wound by hand, and a store in memory. Everything happens within {@link #pass}. */
public final class Rig implements AutoCloseable {
    final HandClock clock = new HandClock();
    public final HandLoop loop = new HandLoop();
    final HandExecutor executor = new HandExecutor();
    final MemoryLeaseStore server = new MemoryLeaseStore(clock);
    final Wire wire;
    final Figures figures = new Figures();
    final List<String> heard = new ArrayList<>();
    final Elections elections;

    public Rig() {
        this(Wire::new);
    }

    /** Goes to the store another way. */
    Rig(Function<LeaseStore, Wire> way) {
        wire = way.apply(server);
        elections = elections(wire);
    }

    Elections elections(LeaseStore store) {
        return Elections.over(
                store,
                ElectionsConfig.builder()
                        .loop(loop)
                        .executor(executor)
                        .metrics(figures)
                        .build());
    }

    /** Stands, and lets the first turns run. */
    LoopCandidacy stand(String candidate, CandidacyConfig.Builder config) {
        var candidacy = (LoopCandidacy)
                elections.stand("billing", config.candidate(candidate).build());
        settle();
        return candidacy;
    }

    /** Ten seconds, as by default, and everything written down that is told. */
    CandidacyConfig.Builder config() {
        return CandidacyConfig.builder().listener(heardBy("")).lease(Duration.ofSeconds(10));
    }

    LeadershipListener heardBy(String who) {
        return event -> heard.add(who + told(event));
    }

    public static String told(LeadershipEvent event) {
        var name = event.getClass().getSimpleName();
        if (event instanceof LeadershipEvent.Revoked revoked) {
            return name + " " + revoked.cause();
        }
        return event instanceof LeadershipEvent.Fenced fenced ? name + " " + fenced.cause() : name;
    }

    /** Runs whatever is due now. */
    public void settle() {
        loop.run();
    }

    /** Lets time pass, running each turn when it is due. */
    public void pass(Duration time) {
        loop.runUntil(clock.nanos + time.toNanos());
    }

    /** Lets time pass while nothing of this process runs, then runs what is overdue. */
    void freeze(Duration time) {
        clock.forward(time);
        settle();
    }

    /** Lets time pass while nothing of this process runs; what is overdue runs later. */
    public void stall(Duration time) {
        clock.forward(time);
    }

    /** Sets the wall clock back. */
    public void setBack(Duration time) {
        clock.wallNanos -= time.toNanos();
    }

    @Override
    public void close() {
        loop.close();
    }

    /** Both clocks, wound by hand. */
    static final class HandClock implements Clock {
        long nanos = 1_000_000_000_000L;
        long wallNanos = 1_700_000_000_000_000_000L;
        /** What the next reading of both clocks throws. */
        @Nullable
        Error thrown;

        @Override
        public Moment now() {
            if (thrown != null) {
                var error = thrown;
                thrown = null;
                throw error;
            }
            return Clock.super.now();
        }

        @Override
        public long nanos() {
            return nanos;
        }

        @Override
        public long wallMillis() {
            return wallNanos / 1_000_000;
        }

        void forward(Duration time) {
            nanos += time.toNanos();
            wallNanos += time.toNanos();
        }
    }

    public final class HandLoop implements Loop {
        private final ArrayDeque<Runnable> inbox = new ArrayDeque<>();
        private final PriorityQueue<Due> timers = new PriorityQueue<>();
        private final Random random = new Random(7);
        private long order;
        boolean closed;
        /** What it throws instead of taking the next turn. */
        @Nullable
        public Error thrown;

        @Override
        public Clock clock() {
            return clock;
        }

        @Override
        public RandomGenerator random() {
            return random;
        }

        @Override
        public void execute(Runnable turn) {
            var error = thrown;
            thrown = null;
            if (error != null) {
                throw error;
            }
            inbox.add(turn);
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            var due = new Due(nanos, order++, turn);
            timers.add(due);
            return () -> timers.remove(due);
        }

        @Override
        public void close() {
            closed = true;
            inbox.clear();
            timers.clear();
        }

        private void run() {
            while (true) {
                var turn = inbox.poll();
                if (turn == null) {
                    var due = timers.peek();
                    if (due == null || due.nanos - clock.nanos > 0) {
                        return;
                    }
                    timers.remove();
                    turn = due.turn;
                }
                turn.run();
            }
        }

        private void runUntil(long nanos) {
            run();
            for (var due = timers.peek(); due != null && due.nanos - nanos <= 0; due = timers.peek()) {
                clock.forward(Duration.ofNanos(Math.max(0, due.nanos - clock.nanos)));
                run();
            }
            clock.forward(Duration.ofNanos(nanos - clock.nanos));
        }
    }

    private record Due(long nanos, long order, Runnable turn) implements Comparable<Due> {
        @Override
        public int compareTo(Due other) {
            return nanos == other.nanos ? Long.compare(order, other.order) : Long.compare(nanos, other.nanos);
        }
    }

    /** Runs user code at once, or keeps it until it is let go: a listener that blocks. */
    static final class HandExecutor implements Executor {
        final ArrayDeque<Runnable> kept = new ArrayDeque<>();
        boolean keeps;
        int ran;
        /** What it throws instead of running anything. */
        @Nullable
        Error thrown;

        @Override
        public void execute(Runnable work) {
            if (thrown != null) {
                throw thrown;
            }
            ran++;
            if (keeps) {
                kept.add(work);
            } else {
                work.run();
            }
        }

        void letGo() {
            keeps = false;
            while (!kept.isEmpty()) {
                kept.remove().run();
            }
        }
    }

    /** The way to the store: counts, delays answers, and loses them. */
    public static class Wire implements LeaseStore {
        private final LeaseStore store;
        private final List<Runnable> late = new ArrayList<>();
        final List<String> calls = new ArrayList<>();
        /** Requests do not arrive. */
        public boolean cut;
        /** Requests of this kind do not arrive. */
        public String cutFrom = "";
        /** Requests of this kind are refused for now. */
        public String unavailableFrom = "";
        /** Requests arrive, and their answers wait for {@link #deliver}. */
        public boolean slow;
        /** Requests arrive, and the answer is an error that says nothing. */
        boolean muffled;
        /** Changes are not told. */
        boolean deaf;
        /** Claims arrive twice, and the second is answered. */
        boolean doubled;
        /** What answers are, instead of what the store says. */
        @Nullable
        RuntimeException failed;
        /** What requests throw, instead of answering. */
        @Nullable
        RuntimeException thrown;
        /** What is done while a name is checked. */
        public Runnable onCheck = () -> {};
        /** What is done when it is closed. */
        public Runnable onClose = () -> {};

        public final List<Consumer<View>> watchers = new CopyOnWriteArrayList<>();

        public Wire(LeaseStore store) {
            this.store = store;
        }

        public void deliver() {
            var due = List.copyOf(late);
            late.clear();
            due.forEach(Runnable::run);
        }

        private <T> CompletionStage<T> carry(String call, Supplier<CompletionStage<T>> request) {
            calls.add(call);
            if (thrown != null) {
                throw thrown;
            }
            if (failed != null) {
                return CompletableFuture.failedStage(failed);
            }
            if (cut || call.equals(cutFrom)) {
                return new CompletableFuture<>();
            }
            if (call.equals(unavailableFrom)) {
                return CompletableFuture.failedStage(new UnavailableException("no space left"));
            }
            var answer = request.get();
            if (muffled) {
                return CompletableFuture.failedStage(new UnavailableException("connection reset"));
            }
            if (slow) {
                var later = new CompletableFuture<T>();
                late.add(() -> answer.thenAccept(later::complete));
                return later;
            }
            return answer;
        }

        @Override
        public String describe() {
            return "rig";
        }

        @Override
        public boolean setsTokens() {
            return store.setsTokens();
        }

        @Override
        public CompletionStage<Answer> acquire(Claim claim) {
            return carry("acquire", () -> {
                var answer = store.acquire(claim);
                return doubled ? store.acquire(claim) : answer;
            });
        }

        @Override
        public List<CompletionStage<Answer>> renew(List<Lease> leases) {
            return leases.stream()
                    .map(lease ->
                            carry("renew", () -> store.renew(List.of(lease)).get(0)))
                    .toList();
        }

        @Override
        public CompletionStage<Answer> release(Claim claim) {
            return carry("release", () -> store.release(claim));
        }

        @Override
        public CompletionStage<View> read(String election) {
            return carry("read", () -> store.read(election));
        }

        @Override
        public Watch watch(String election, Consumer<View> watcher) {
            calls.add("watch");
            if (thrown != null) {
                throw thrown;
            }
            watchers.add(watcher);
            var watch = store.watch(election, view -> {
                if (!deaf && !cut) {
                    watcher.accept(view);
                }
            });
            return () -> {
                watchers.remove(watcher);
                watch.close();
            };
        }

        /** Tells all who watch, whatever it is. */
        public void tell(View view) {
            List.copyOf(watchers).forEach(watcher -> watcher.accept(view));
        }

        @Override
        public void check(String election, CandidacyConfig config) {
            onCheck.run();
        }

        @Override
        public CompletionStage<Boolean> order(String election, Order order) {
            return store.order(election, order);
        }

        @Override
        public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
            return carry("note", () -> store.note(election, token, expected, note));
        }

        @Override
        public Optional<String> handOverObjection() {
            return store.handOverObjection();
        }

        @Override
        public CompletionStage<List<String>> list() {
            return store.list();
        }

        @Override
        public void close() {
            onClose.run();
        }
    }

    /** Writes the figures down. */
    static final class Figures implements Metrics {
        final List<Attempt> attempts = new ArrayList<>();
        final List<Cause> losses = new ArrayList<>();
        final List<Throwable> failures = new ArrayList<>();
        final List<Duration> delays = new ArrayList<>();
        final List<Long> overruns = new ArrayList<>();
        final List<Long> terms = new ArrayList<>();
        final List<String> outages = new ArrayList<>();
        /** What it throws when a term begins. */
        @Nullable
        Error thrown;

        @Override
        public void termBegan(String election, String candidate, long token) {
            terms.add(token);
            if (thrown != null) {
                throw thrown;
            }
        }

        @Override
        public void overran(String election, String candidate, long token) {
            overruns.add(token);
        }

        @Override
        public void outageBegan(String what) {
            outages.add("began");
        }

        @Override
        public void outageEnded(Duration length) {
            outages.add("ended");
        }

        @Override
        public void attempted(String election, String candidate, Attempt attempt, Duration latency) {
            attempts.add(attempt);
        }

        @Override
        public void termEnded(String election, String candidate, Cause cause, Duration held) {
            losses.add(cause);
        }

        @Override
        public void callbackFailed(String election, String candidate, Throwable failure) {
            failures.add(failure);
        }

        @Override
        public void callbackDelayed(String election, String candidate, Duration queued) {
            delays.add(queued);
        }
    }
}
