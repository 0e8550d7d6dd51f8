package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.internal.election.SharedMandate;
import dev.bellwether.internal.loop.LoopThread;
import dev.bellwether.internal.loop.SerialExecutor;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RequestLimiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;
import org.jetbrains.lincheck.Lincheck;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

/**
 * What threads share without the loop, under Lincheck, which tries interleavings of them. Runs over whatever core this
 * class was loaded with, and speaks in types of the JDK only, since its caller knows another core.
 */
public final class InterleavingRun implements LongFunction<String[]> {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final int INVOCATIONS = Integer.getInteger("bellwether.interleavings", 500);

    /** What is tried. */
    enum Part {
        /** Readers of a mandate, while the loop extends it and ends it. */
        MANDATE,
        /** {@code isLeader()} and {@code mandate()}, while the loop makes an end of the mandate. */
        CANDIDACY,
        /** A piece of a user's code that ends while the loop looks for it. */
        EXECUTOR,
        /** An interrupt that comes as its piece ends. */
        INTERRUPT,
        /** Commands to the loop as it goes to sleep. */
        INBOX,
        /** Requests that are sent and answered by several threads. */
        LIMITER
    }

    /** For reflection. */
    public InterleavingRun() {}

    /** Tries the part of this number; returns how long it took, and what was found, if anything was. */
    @Override
    public String[] apply(long number) {
        var began = System.nanoTime();
        var found = "";
        try {
            tryAll(Part.values()[(int) number]);
        } catch (LincheckAssertionError e) {
            found = String.valueOf(e.getMessage());
        }
        var took = String.format(Locale.ROOT, "%.1f s", (System.nanoTime() - began) / 1e9);
        return found.isEmpty() ? new String[] {took} : new String[] {took, found};
    }

    private static void tryAll(Part part) {
        switch (part) {
            case MANDATE ->
                new ModelCheckingOptions()
                        .iterations(10)
                        .invocationsPerIteration(INVOCATIONS / 5)
                        .threads(2)
                        .actorsPerThread(3)
                        .check(SharedMandate.class);
            case CANDIDACY -> Lincheck.runConcurrentTest(INVOCATIONS / 10, InterleavingRun::candidacy);
            case EXECUTOR -> Lincheck.runConcurrentTest(INVOCATIONS, InterleavingRun::executor);
            case INTERRUPT -> Lincheck.runConcurrentTest(INVOCATIONS, InterleavingRun::interrupt);
            case INBOX -> Lincheck.runConcurrentTest(INVOCATIONS / 5, InterleavingRun::inbox);
            case LIMITER -> Lincheck.runConcurrentTest(INVOCATIONS, InterleavingRun::limiter);
        }
    }

    private static void require(boolean fact, String otherwise) {
        if (!fact) {
            throw new IllegalStateException(otherwise);
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    // ---------------------------------------------------------------- isLeader()

    private static void candidacy() {
        var loop = new TurnsByHand();
        var elections = Elections.over(
                new MemoryLeaseStore(loop.clock()),
                ElectionsConfig.builder().loop(loop).executor(Runnable::run).build());
        var candidacy = elections.stand(
                "bell", CandidacyConfig.builder().candidate("ann").lease(HOUR).build());
        loop.run();
        require(candidacy.isLeader(), "it does not lead");
        var seen = new ArrayList<Boolean>();
        var reader = new Thread(() -> read(candidacy, seen));
        reader.start();
        candidacy.resign();
        loop.run();
        require(!candidacy.isLeader(), "it leads after its end");
        join(reader);
        require(seen.size() == 3, "a reader was thrown out");
        require(seen.get(0) || !seen.get(2), "it leads again");
    }

    private static void read(Candidacy candidacy, List<Boolean> seen) {
        seen.add(candidacy.isLeader());
        seen.add(candidacy.mandate().isPresent());
        seen.add(candidacy.isLeader());
    }

    // ---------------------------------------------------------------- user's code

    private static void executor() {
        var loop = new TurnsByHand();
        var threads = new ArrayList<Thread>();
        var told = new ArrayList<String>();
        var idle = new AtomicInteger();
        var executor = new SerialExecutor(piece -> start(threads, piece), loop, idle::incrementAndGet);
        executor.submit(() -> null, (failure, queuedNanos) -> told.add("first"));
        executor.submit(() -> null, (failure, queuedNanos) -> told.add("second"));
        executor.look();
        loop.run();
        executor.look();
        for (var i = 0; i < threads.size(); i++) { // the end of one begins the next
            join(threads.get(i));
            loop.run();
        }
        require(told.equals(List.of("first", "second")), "told: " + told);
        require(idle.get() == 1 && executor.idle(), "idle " + idle.get() + " times");
    }

    private static void start(List<Thread> threads, Runnable piece) {
        var thread = new Thread(piece);
        threads.add(thread);
        thread.start();
    }

    private static void interrupt() {
        var loop = new TurnsByHand();
        var threads = new ArrayList<Thread>();
        var after = new AtomicBoolean();
        var executor = new SerialExecutor(
                piece -> start(threads, () -> {
                    piece.run();
                    after.set(Thread.currentThread().isInterrupted());
                }),
                loop,
                () -> {});
        executor.submit(() -> null, (failure, queuedNanos) -> {});
        executor.interrupt();
        join(threads.get(0));
        loop.run();
        require(!after.get(), "the interrupt has followed the thread into other work");
        require(executor.idle(), "it waits for what has ended");
    }

    // ---------------------------------------------------------------- the loop

    private static void inbox() {
        var loop = new LoopThread(Clock.system(), HOUR, (stall, how) -> {});
        var ran = new CountDownLatch(2);
        loop.start();
        var other = new Thread(() -> loop.execute(ran::countDown));
        other.start();
        loop.execute(ran::countDown);
        try {
            ran.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        join(other);
        loop.close();
    }

    // ---------------------------------------------------------------- requests

    private static void limiter() {
        var limiter = new RequestLimiter(1);
        var sent = new ConcurrentLinkedQueue<CompletableFuture<String>>();
        var underWay = new AtomicInteger();
        var answers = new ConcurrentLinkedQueue<CompletableFuture<String>>();
        var first = new Thread(() -> ask(limiter, sent, underWay, answers));
        var second = new Thread(() -> ask(limiter, sent, underWay, answers));
        first.start();
        second.start();
        join(first);
        join(second);
        ask(limiter, sent, underWay, answers);
        while (answerOne(sent, underWay)) {
            require(underWay.get() >= 0, "answered twice");
        }
        require(
                answers.size() == 3 && answers.stream().allMatch(CompletableFuture::isDone),
                "there is no room any more: one was never sent");
        require(!limiter.isCrowded(), "somebody waits forever");
    }

    private static void ask(
            RequestLimiter limiter,
            Queue<CompletableFuture<String>> sent,
            AtomicInteger underWay,
            Queue<CompletableFuture<String>> answers) {
        answers.add(limiter.pass(
                RequestLimiter.Urgency.KEEP,
                System.nanoTime() + HOUR.toNanos(),
                () -> {
                    require(underWay.incrementAndGet() == 1, "more are under way than may be");
                    var reply = new CompletableFuture<String>();
                    sent.add(reply);
                    return reply;
                },
                () -> new UnavailableException("too late")));
        answerOne(sent, underWay);
    }

    private static boolean answerOne(Queue<CompletableFuture<String>> sent, AtomicInteger underWay) {
        var reply = sent.poll();
        if (reply == null) {
            return false;
        }
        underWay.decrementAndGet();
        return reply.complete("answered");
    }

    /** Turns run when the test says so; anybody may add one. */
    private static final class TurnsByHand implements Loop {
        private final Queue<Runnable> inbox = new ConcurrentLinkedQueue<>();

        private void run() {
            for (var turn = inbox.poll(); turn != null; turn = inbox.poll()) {
                turn.run();
            }
        }

        @Override
        public Clock clock() {
            return new Clock() {
                @Override
                public long nanos() {
                    return 1_000_000_000L;
                }

                @Override
                public long wallMillis() {
                    return 1_000L;
                }
            };
        }

        @Override
        public RandomGenerator random() {
            return () -> 1L << 63;
        }

        @Override
        public void execute(Runnable turn) {
            inbox.add(turn);
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            return () -> {};
        }

        @Override
        public Timer every(long nanos, Runnable turn) {
            return () -> {};
        }

        @Override
        public void close() {
            inbox.clear();
        }
    }
}
