package dev.bellwether.cli.run;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.Mandate;
import dev.bellwether.cli.command.Text;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One candidacy of {@code bellwether run}: starts the command when it leads, ends it when it does no more, and tells
 * what came of it.
 *
 * <p>Its events come one at a time; an outcome may be taken by another thread.
 */
final class RunSession implements LeadershipListener {
    private final Watchdog.Job job;
    private final Duration feedInterval;
    private final Consumer<String> say;
    private final BlockingQueue<Outcome> outcomes = new LinkedBlockingQueue<>();
    private final AtomicReference<@Nullable Watchdog> keeper = new AtomicReference<>();
    private volatile long idleSinceNanos;
    private final boolean again;
    private boolean starting; // guarded by this, as are changes of the next
    private volatile boolean leaving;
    private volatile boolean endedByWatchdog;
    private boolean lost; // confined to the events

    /** What came of a term. */
    sealed interface Outcome {}

    /** The command ended by itself. */
    record Exited(int code) implements Outcome {}

    /**
     * The seat was lost, and the command ended for that.
     *
     * @param standsAgain whether the candidacy stands again by itself
     * @param ordered whether an operator ordered it to stand down or to hand over, and no more than that
     */
    record Lost(String why, boolean standsAgain, boolean ordered) implements Outcome {}

    /** The election is over. */
    record Over() implements Outcome {}

    /** The candidacy has failed permanently: standing again would not fix it. */
    record Failed(String why) implements Outcome {}

    /** Something else is broken that standing again would not fix. */
    record Broken(String why) implements Outcome {}

    /** Tells of standing by after a loss only if it will stand again. */
    RunSession(Watchdog.Job job, Duration feedInterval, boolean again, Consumer<String> say, long idleSinceNanos) {
        this.idleSinceNanos = idleSinceNanos;
        this.again = again;
        this.job = job;
        this.feedInterval = feedInterval;
        this.say = say;
    }

    /** Returns the next outcome, or null if there is none within this time. */
    @Nullable
    Outcome next(Duration within) throws InterruptedException {
        return outcomes.poll(within.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Returns for how long no command has been running, or being started. */
    synchronized Duration idle() {
        return isBusy() ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - idleSinceNanos);
    }

    private boolean isBusy() {
        return starting || keeper.get() != null;
    }

    /** Starts nothing any more: what ends from now on ends because we leave. */
    synchronized void leaving() {
        leaving = true;
    }

    /** The same if it has been idle for this long, and has come to nothing else; returns whether it has. */
    synchronized boolean giveUpIfIdleFor(Duration longest) {
        if (idle().compareTo(longest) < 0 || !outcomes.isEmpty()) {
            return false;
        }
        leaving = true;
        return true;
    }

    @Override
    public void onEvent(LeadershipEvent event) throws Exception {
        // sealed, but Java 17 has no switch over types
        if (event instanceof LeadershipEvent.Acquired acquired) {
            lead(acquired.mandate());
        } else if (event instanceof LeadershipEvent.Revoked revoked) {
            end(revoked.cause(), false);
        } else if (event instanceof LeadershipEvent.Fenced fenced) {
            end(fenced.cause(), anotherMayLead(fenced.cause()));
        } else if (event instanceof LeadershipEvent.Following following && (again || !lost)) {
            say.accept(following
                    .leader()
                    .map(leader -> "standing by; leader: " + leader)
                    .orElse("standing by; nobody leads"));
        } else if (event instanceof LeadershipEvent.Ended) {
            stop();
            outcomes.add(new Over());
        } else if (event instanceof LeadershipEvent.Failed failed) {
            stop();
            outcomes.add(new Failed(String.valueOf(failed.error().getMessage())));
        }
    }

    private void lead(Mandate mandate) throws InterruptedException {
        var present = keeper.get();
        if (!mayStart()) {
            return;
        }
        try {
            if (present == null) {
                start(mandate);
            } else {
                leadAgain(present, mandate);
            }
        } catch (InterruptedException e) {
            throw e;
        } catch (Throwable e) { // no thread or no memory, too: or the seat would be held without a command
            outcomes.add(new Broken("the command cannot be started: " + wordsFor(e)));
        } finally {
            synchronized (this) {
                starting = false;
            }
        }
    }

    private synchronized boolean mayStart() {
        starting = !leaving;
        return starting;
    }

    private void start(Mandate mandate) throws IOException, InterruptedException {
        var environment = new HashMap<>(job.environment());
        environment.put("BELLWETHER_ELECTION", mandate.election());
        environment.put("BELLWETHER_CANDIDATE", mandate.candidate());
        environment.put("BELLWETHER_TOKEN", Long.toString(mandate.token()));
        say.accept("leading, token " + mandate.token() + ": starting "
                + job.command().get(0));
        var started = Watchdog.start(
                new Watchdog.Job(job.command(), environment, job.grace(), job.margin(), job.tell()),
                mandate,
                feedInterval);
        keeper.set(started);
        var unused = started.ended().whenComplete((ended, error) -> commandEnded(started, ended, error));
    }

    private void leadAgain(Watchdog present, Mandate mandate) {
        try {
            present.won(mandate);
            say.accept("leading again, token " + mandate.token() + ": SIG"
                    + job.tell().orElseThrow().won() + " sent");
        } catch (IOException e) {
            outcomes.add(new Broken("the command cannot be told that it leads again: its token is not written (" + e
                    + ")")); // who takes this closes the candidacy, and so ends the command
        } catch (RuntimeException | Error e) { // no memory, for example
            outcomes.add(new Broken("the command cannot be told that it leads again: " + e));
        }
    }

    private void end(Cause cause, boolean atOnce) throws InterruptedException {
        var present = keeper.get();
        var why = wordsFor(cause);
        if (present == null) {
            if (endedByWatchdog && !leaving) {
                say.accept("leading no more (" + why + ")");
            }
            return; // the command has ended already
        }
        var ordered = cause == Cause.REVOKED_BY_OPERATOR || cause == Cause.HANDED_OVER;
        lost = job.tell().isEmpty() && !ordered;
        if (job.tell().isPresent() && !leaving) {
            if (!present.lost()) {
                say.accept("leading no more (" + why
                        + "): the command was killed, because its watchdog did not tell it in time");
                return;
            }
            say.accept("leading no more (" + why + "): SIG" + job.tell().get().lost() + " sent");
            idleSinceNanos = System.nanoTime();
            if (!atOnce) {
                // The seat is handed over when we return, also if it is not lost yet, and the command has no way to say
                // that it has finished. Half of the budget, when core interrupts us, may be less than the grace.
                Uninterrupted.sleepUntil(System.nanoTime() + job.grace().toNanos());
            }
            return;
        }
        var ended = atOnce ? present.kill() : present.down();
        try {
            say.accept("leading no more (" + why + "): ending the command");
        } finally {
            ended.run();
            if (cause != Cause.ENDED && cause != Cause.FAILED) { // what follows on these says more
                outcomes.add(new Lost(why, true, ordered));
            }
        }
    }

    /** Ends a command that stays, when there is no more to come, and waits for it. */
    void stop() {
        var present = keeper.get();
        if (present != null) {
            leaving();
            present.down().run();
        }
    }

    private void commandEnded(Watchdog which, Watchdog.@Nullable Ended ended, @Nullable Throwable error) {
        idleSinceNanos = System.nanoTime();
        keeper.compareAndSet(which, null);
        if (leaving) {
            return;
        }
        if (ended == null) {
            outcomes.add(new Broken("it is not certain that the command has ended: " + error));
            return;
        }
        switch (ended.why()) {
            case "ended" -> outcomes.add(new Exited(ended.code()));
            case "expired" -> endedByWatchdog("the lease was not extended in time");
            case "late" -> endedByWatchdog("the lease ran out, or was not told of, before the command was started");
            case "asked" -> endedByWatchdog("it got a signal to end");
            case "ordered" -> {} // anybody who ordered it tells
            default ->
                outcomes.add(new Broken(
                        "the watchdog of the command failed (" + ended.why() + "), so the command was killed"));
        }
    }

    /** The watchdog was first: of the loss we hear a moment later, or never. */
    private void endedByWatchdog(String why) {
        endedByWatchdog = true;
        try {
            say.accept("the watchdog ended the command: " + why);
        } finally {
            outcomes.add(new Lost(why, false, false));
        }
    }

    private static String wordsFor(Throwable e) {
        return e instanceof IOException ? Text.words(e) : e.toString();
    }

    private static boolean anotherMayLead(Cause cause) {
        return cause == Cause.MOVED || cause == Cause.REPLACED || cause == Cause.EXPIRED;
    }

    private static String wordsFor(Cause cause) {
        return switch (cause) {
            case RESIGNED, STOOD_DOWN, HANDED_OVER -> "handing over";
            case REVOKED_BY_OPERATOR -> "an operator ordered it to stand down";
            case MOVED -> "the seat moved to another candidate";
            case REPLACED -> "somebody else leads";
            case UNREACHABLE -> "the backend did not answer in time";
            case PAUSED -> "this process was paused for too long";
            case EXPIRED -> "the lease ran out";
            case UNPULSED -> "it was not pulsed in time";
            case ENDED -> "the election has ended";
            case FAILED -> "it failed";
        };
    }
}
