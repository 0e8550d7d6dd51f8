package dev.bellwether.internal.election;

import dev.bellwether.Candidate;
import dev.bellwether.HandOver;
import dev.bellwether.HandOver.Outcome;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.internal.loop.Requests;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.HandOverNote.Stage;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One hand-over, as who orders it sees it: asks for it, and finds out what became of it.
 *
 * <p>Confined to the loop; to begin it and to wait for it is for any thread.
 */
final class HandOverOrder {
    /*
     *   read --> refused: nobody leads, not a candidate, under way
     *     |
     *   note ASKED --> the candidate notes READY --> the leader stands down --> the candidate claims
     *     |                                     |
     *     | not in time: we note nothing again   | the leader, or the candidate, dies: another claims
     *     v                                     v
     *   NOT_READY                               TAKEN_BY_ANOTHER
     *
     * The note is replaced only if it is the one that is expected. So either the candidate said READY, and the leader
     * will obey whenever it reads it, or we have withdrawn the order, and nobody will: there is no third case, however
     * late a message comes. What watching tells makes us read; what counts is what was read.
     *
     * The next grant drops the note. While the note is still over the seat, the candidate that we read to have the seat
     * is only next in a queue: it may be dead, and then another leads once it is gone. So of what watching tells, too,
     * only those count over whose seat no note is.
     */
    private static final long LOOK_NANOS = 1_000_000_000L;
    private static final long LOOK_AGAIN_NANOS = 20_000_000L;
    /** Beyond the time of a request: then our loop is taken for one that was closed. */
    private static final long STILL_NANOS = 10_000_000_000L;

    private final String name;
    private final Arbiter arbiter;
    private final Loop loop;
    private final Duration timeout;
    private final Optional<String> to;
    private final Duration within;
    private final Optional<String> from;
    private final CompletableFuture<HandOver> outcome = new CompletableFuture<>();

    private @Nullable HandOverNote asked; // once it has been noted
    private String former = "";
    private String successor = ""; // who is ready, once somebody is
    private @Nullable Leader next; // the first after the former one, as far as we were told
    /** The last token under which the seat was the successor's to take, and was not taken. */
    private long notTaken;

    private long againNanos = LOOK_AGAIN_NANOS; // until we look whether it is
    private long readyByNanos;
    private long hopeNanos; // then we give up
    /** When we have last had a turn of our own: for any thread. */
    private volatile long turnNanos = System.nanoTime();

    private boolean sent;
    private boolean inDoubt; // whether it was noted
    private boolean reading;
    private boolean readAgain;
    private boolean withdrawing;
    private Watch watch = Watch.NONE;
    private Loop.@Nullable Timer timer;

    /**
     * Makes one.
     *
     * @param timeout for each answer of the infrastructure
     * @param to the successor; empty for any
     * @param from whose seat it may be; empty for anybody's
     */
    HandOverOrder(
            String name,
            Arbiter arbiter,
            Loop loop,
            Duration timeout,
            Optional<String> to,
            Duration within,
            Optional<String> from) {
        this.name = name;
        this.arbiter = arbiter;
        this.loop = loop;
        this.timeout = timeout;
        this.to = to;
        this.within = within;
        this.from = from;
    }

    /** Begins it, and returns how it ends. */
    CompletionStage<HandOver> begin() {
        loop.execute(() -> {
            hopeNanos = loop.clock().nanos() + timeout.toNanos();
            lookAgainIn(timeout.toNanos());
            LeaseSeat.deliver(loop, Requests.ask(() -> arbiter.read(name, loop)), (view, error) -> {
                if (outcome.isDone()) {
                    return; // the answer comes too late: it has been told that nothing was ordered
                }
                if (view == null) {
                    fail(error);
                } else {
                    order(view);
                }
            });
        });
        return outcome;
    }

    private void order(View view) {
        var refused = refusal(view);
        if (refused.isPresent()) {
            end(refused.get(), view.leader());
            return;
        }
        former = view.holder().orElseThrow().candidate();
        var id = UUID.randomUUID().toString();
        var note = new HandOverNote(view.token(), id, Stage.ASKED, within, to.orElse(""));
        try {
            watch = arbiter.watch(name, seen -> loop.execute(() -> see(seen)), loop);
        } catch (RuntimeException | Error e) { // nothing has been ordered yet
            fail(e);
            return;
        }
        readyByNanos = loop.clock().nanos() + within.toNanos();
        hopeNanos = readyByNanos + timeout.toNanos();
        sent = true;
        var noted = Requests.ask(() -> arbiter.note(name, view.token(), view.note(), note.text()));
        LeaseSeat.deliver(loop, noted, (done, error) -> {
            if (done == null && !(error instanceof UnavailableException)) {
                fail(error);
            } else {
                asked = note; // or it may be: the seat tells
                inDoubt = done == null;
                look();
            }
        });
    }

    private Optional<Outcome> refusal(View view) {
        if (view.holder().isEmpty()) {
            return Optional.of(Outcome.NOBODY_LEADS);
        }
        var leader = view.holder().get().candidate();
        if (to.filter(leader::equals).isPresent()) {
            return Optional.of(Outcome.DONE);
        }
        if (from.isPresent() && !from.get().equals(leader)) {
            return Optional.of(Outcome.TAKEN_BY_ANOTHER);
        }
        if (view.handOver().isPresent()) {
            return Optional.of(Outcome.UNDER_WAY);
        }
        var stands = view.candidates().stream()
                .map(Candidate::id)
                .anyMatch(id -> !id.equals(leader) && (to.isEmpty() || id.equals(to.get())));
        return stands || !view.allListed() || !arbiter.listsCandidates()
                ? Optional.empty()
                : Optional.of(Outcome.NOT_A_CANDIDATE);
    }

    // ---------------------------------------------------------------- waiting for what becomes of it

    private void see(View view) {
        var order = asked;
        if (outcome.isDone() || order == null) {
            return;
        }
        if (view.token() > order.token()) {
            if (isGranted(view, order) && (next == null || view.token() < next.token())) {
                next = view.leader().orElse(next);
            }
            look();
        } else if (!view.note().equals(order.text()) || view.holder().isEmpty()) {
            look();
        }
    }

    private void look() {
        if (outcome.isDone()) {
            return;
        }
        if (reading) {
            readAgain = true;
            return;
        }
        reading = true;
        readAgain = false;
        LeaseSeat.deliver(loop, Requests.ask(() -> arbiter.read(name, loop)), (view, error) -> {
            // each look puts our timer off, and a watch may tell of more than one change a second
            turnNanos = System.nanoTime();
            reading = false;
            if (outcome.isDone()) {
                return;
            }
            if (view != null) {
                judge(view);
            }
            if (endsWithoutHope()) {
                return;
            }
            if (readAgain) {
                look();
            } else {
                lookAgainIn(notTaken == 0 ? LOOK_NANOS : longerEachTime());
            }
        });
        lookAgainIn(LOOK_NANOS); // should no answer come
    }

    private void judge(View view) {
        var order = asked;
        if (order == null) {
            return;
        }
        if (view.token() > order.token()) {
            judgeSuccessor(view, order);
            return;
        }
        if (view.token()
                < order.token()) { // vacant, where a vacant seat has no token; the next leader has a higher one
            if (successor.isEmpty() && loop.clock().nanos() - readyByNanos >= 0) {
                end(Outcome.NOBODY_LEADS, Optional.empty());
            }
            return;
        }
        var present = view.handOver().filter(note -> note.order().equals(order.order()));
        if (present.isEmpty() && inDoubt && view.holder().isPresent()) {
            fail(null); // it may still be noted
        } else if (present.isEmpty()) {
            // it was not noted, since something else was in the meantime; or the leader has withdrawn it
            end(
                    view.holder().isEmpty()
                            ? Outcome.NOBODY_LEADS
                            : view.handOver().isPresent() ? Outcome.UNDER_WAY : Outcome.NOT_READY,
                    view.leader());
        } else if (present.get().isReady()) {
            inDoubt = false;
            if (successor.isEmpty()) {
                successor = present.get().to();
                // the leader obeys, or is dead, and then its lease runs out
                hopeNanos = loop.clock().nanos() + view.remaining().toNanos() + 2 * timeout.toNanos();
            }
        } else if (loop.clock().nanos() - readyByNanos >= 0) {
            withdraw(order, view);
        } else {
            inDoubt = false;
        }
    }

    private void judgeSuccessor(View view, HandOverNote order) {
        var granted = isGranted(view, order);
        var first = Optional.ofNullable(next)
                .filter(one -> granted && one.token() > notTaken && one.token() <= view.token());
        var leader = first.or(view::leader);
        if (leader.isEmpty()) {
            end(Outcome.TAKEN_BY_ANOTHER, leader); // it is gone again, or never led
        } else if (!isExpected(leader.get().candidate())) {
            end(Outcome.TAKEN_BY_ANOTHER, leader);
        } else if (granted) {
            end(Outcome.DONE, leader);
        } else {
            notTaken = view.token();
        }
    }

    /** Returns whether who has the seat behind the former leader was granted it, as far as this view tells. */
    private static boolean isGranted(View view, HandOverNote order) {
        return !view.note().equals(View.UNREAD)
                && HandOverNote.parse(view.note())
                        .filter(note -> note.order().equals(order.order()))
                        .isEmpty();
    }

    private boolean isExpected(String id) {
        return to.isPresent() ? id.equals(to.get()) : successor.isEmpty() ? !id.equals(former) : id.equals(successor);
    }

    private void withdraw(HandOverNote order, View view) {
        if (view.holder().isEmpty()) { // the leader was gone before anybody was ready
            end(Outcome.NOBODY_LEADS, Optional.empty());
            return;
        }
        if (!withdrawing) {
            withdrawing = true;
            var noted = Requests.ask(() -> arbiter.note(name, order.token(), order.text(), ""));
            LeaseSeat.deliver(loop, noted, (done, error) -> {
                withdrawing = false;
                lookAfterWithdrawal(Boolean.TRUE.equals(done)); // it tells what is so
            });
        }
    }

    /** If it was not withdrawn, a look may ask for that again: not at once. */
    private void lookAfterWithdrawal(boolean withdrawn) {
        if (withdrawn) {
            look();
        } else if (!reading && !outcome.isDone()) {
            lookAgainIn(longerEachTime());
        }
    }

    // ---------------------------------------------------------------- small things

    private long longerEachTime() {
        againNanos = Math.min(2 * againNanos, LOOK_NANOS);
        return againNanos;
    }

    private void lookAgainIn(long nanos) {
        if (timer != null) {
            timer.cancel();
        }
        var now = loop.clock().nanos();
        var at = now + nanos;
        var due = asked != null && successor.isEmpty() && readyByNanos - now > 0 && readyByNanos - at < 0;
        timer = loop.at(due ? readyByNanos : at, this::tick);
    }

    /**
     * Returns whether our loop still runs, as far as we can tell: it takes a turn every second. For any thread.
     *
     * @param nanos a reading of {@link System#nanoTime}
     */
    boolean isDrivenAt(long nanos) {
        return nanos - turnNanos < timeout.toNanos() + STILL_NANOS;
    }

    private void tick() {
        turnNanos = System.nanoTime();
        if (endsWithoutHope()) {
            return;
        }
        if (asked != null) {
            reading = false; // what was asked a second ago has no answer
            look();
        } else {
            lookAgainIn(LOOK_AGAIN_NANOS);
        }
    }

    /** Ends it if nothing more is to be hoped for. Returns whether it has ended, now or before. */
    private boolean endsWithoutHope() {
        if (!outcome.isDone() && loop.clock().nanos() - hopeNanos >= 0) {
            fail(null);
        }
        return outcome.isDone();
    }

    private void fail(@Nullable Throwable error) {
        outcome.completeExceptionally(
                error != null
                        ? error
                        : new UnavailableException(
                                sent
                                        ? "it is not known what became of it: it may still be carried out"
                                        : "no answer; nothing was ordered"));
        finish();
    }

    private void end(Outcome how, Optional<Leader> leader) {
        outcome.complete(new HandOver(how, leader));
        finish();
    }

    /** Behind the outcome: a watch may throw that cannot be ended in order, and somebody waits. */
    private void finish() {
        watch.close();
        if (timer != null) {
            timer.cancel();
        }
    }
}
