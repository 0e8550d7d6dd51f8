package dev.bellwether.testkit.sim;

import dev.bellwether.UnavailableException;
import dev.bellwether.internal.election.SharedMandate;
import dev.bellwether.spi.RequestLimiter;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.Lincheck;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

/**
 * What threads share without the loop, under Lincheck, which tries interleavings of them. Lincheck knows a class by its
 * name, once in a JVM: so another core is tried in another.
 */
public final class InterleavingRun {
    /** The exit code of a process that has found a mistake; none of the JVM's own. */
    static final int FOUND = 7;

    private static final Duration HOUR = Duration.ofHours(1);
    private static final int INVOCATIONS = Integer.getInteger("bellwether.interleavings", 3_000);

    /** What is tried. */
    enum Part {
        /** Readers of a mandate, while the loop extends it and ends it: what {@code isLeader()} stands on. */
        MANDATE,
        /** Requests that are sent and answered by several threads. */
        LIMITER
    }

    private InterleavingRun() {}

    /** Tries the part of this name, in a process of its own; ends with {@link #FOUND} if anything was found. */
    public static void main(String... arguments) {
        var found = found(Part.valueOf(arguments[0]));
        System.out.println(found.orElse("nothing found"));
        System.exit(found.isPresent() ? FOUND : 0);
    }

    /** Returns what was found, if anything was. */
    static Optional<String> found(Part part) {
        try {
            tryAll(part);
            return Optional.empty();
        } catch (LincheckAssertionError e) {
            var found = String.valueOf(e.getMessage());
            if (found.contains("a bug in Lincheck")) {
                throw new IllegalStateException("Lincheck itself failed", e);
            }
            return Optional.of(found);
        }
    }

    private static void tryAll(Part part) {
        switch (part) {
            case MANDATE ->
                new ModelCheckingOptions()
                        .iterations(50)
                        .invocationsPerIteration(INVOCATIONS / 25)
                        .threads(2)
                        .actorsBefore(0) // it would be over
                        .actorsPerThread(3)
                        .check(SharedMandate.class);
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

    // ---------------------------------------------------------------- requests

    private static void limiter() {
        var limiter = new RequestLimiter(2);
        var sent = new ConcurrentLinkedQueue<CompletableFuture<String>>();
        var underWay = new AtomicInteger();
        var answers = new ConcurrentLinkedQueue<CompletableFuture<String>>();
        var first = new Thread(() -> ask(limiter, sent, underWay, answers));
        var second = new Thread(() -> ask(limiter, sent, underWay, answers));
        first.start();
        second.start();
        join(first);
        join(second);
        for (var i = 0; i < 2; i++) { // all have been answered: there is room for two
            answers.add(pass(limiter, sent, underWay));
        }
        require(sent.size() == 2, "there is no room any more, and nothing is under way");
        while (answerOne(sent, underWay)) {
            require(underWay.get() >= 0, "answered twice");
        }
        require(answers.size() == 4 && answers.stream().allMatch(CompletableFuture::isDone), "one was never sent");
        require(!limiter.isCrowded(), "somebody waits forever");
    }

    private static void ask(
            RequestLimiter limiter,
            Queue<CompletableFuture<String>> sent,
            AtomicInteger underWay,
            Queue<CompletableFuture<String>> answers) {
        answers.add(pass(limiter, sent, underWay));
        answerOne(sent, underWay);
    }

    private static CompletableFuture<String> pass(
            RequestLimiter limiter, Queue<CompletableFuture<String>> sent, AtomicInteger underWay) {
        return limiter.pass(
                RequestLimiter.Urgency.KEEP,
                System.nanoTime() + HOUR.toNanos(),
                () -> {
                    require(underWay.incrementAndGet() <= 2, "more are under way than may be");
                    var reply = new CompletableFuture<String>();
                    sent.add(reply);
                    return reply;
                },
                () -> new UnavailableException("too late"));
    }

    private static boolean answerOne(Queue<CompletableFuture<String>> sent, AtomicInteger underWay) {
        var reply = sent.poll();
        if (reply == null) {
            return false;
        }
        underWay.decrementAndGet();
        return reply.complete("answered");
    }
}
