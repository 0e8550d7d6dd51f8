package dev.bellwether.kafka;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.spi.AccessPatience;
import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Interrupts;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.InterruptException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One candidacy's hold on a seat: the thread on which its {@link SeatMachine} lives, and the mail to it.
 *
 * <p>The methods of {@link Seat} and {@link Journal.Reader} only leave word; the thread polls the group's consumer, and
 * in between obeys what it finds.
 */
final class GroupSeat implements Seat, Journal.Reader, SeatThread {
    private static final Logger log = LoggerFactory.getLogger(GroupSeat.class);
    private static final Duration IDLE = Duration.ofSeconds(10);
    private static final Duration CATCHING_UP = Duration.ofMillis(500);

    private final Standing standing;
    private final Claimant claimant;
    private final Loop loop;
    private final KafkaArbiter arbiter;
    private final GroupMember member;
    private final SeatMachine machine;
    private final LinkedBlockingQueue<Runnable> inbox = new LinkedBlockingQueue<>();
    private final Thread thread;

    /** Confined to our thread: how long we bear that we may not read the journal, or not be in the group. */
    private final AccessPatience reading;

    private final AccessPatience joining;
    private long refusedNanos;
    private long renewedNanos;

    /** When we last read something, and when we last asked whether there is nothing to read because nobody answers. */
    private long readNanos;

    private long askedNanos;
    private final ToldFailures failures = new ToldFailures(); // of our clients

    /**
     * Confined to the loop: what was asked in this turn. Carried over as one, so that "release, claim" never lets go in
     * between.
     */
    private final List<Runnable> asked = new ArrayList<>();

    private boolean started;
    private Watch joined = Watch.NONE; // written before the thread starts
    private boolean over;
    private volatile boolean abandoned;
    private volatile boolean dead;

    GroupSeat(Standing standing, Claimant claimant, Loop loop, KafkaArbiter arbiter) {
        this.standing = standing;
        this.claimant = claimant;
        this.loop = loop;
        this.arbiter = arbiter;
        member = new GroupMember(standing, arbiter.partition(), arbiter, this::consumer, this::owner);
        machine = new SeatMachine(standing, claimant, loop.clock(), arbiter, member, this);
        var patience = standing.config().accessPatience();
        reading = new AccessPatience(patience);
        joining = new AccessPatience(patience);
        readNanos = loop.clock().nanos();
        askedNanos = readNanos;
        refusedNanos = loop.clock().nanos() - standing.config().lease().toNanos();
        renewedNanos = refusedNanos;
        thread = BackendThread.of("bellwether-kafka-" + standing.election(), this::run, this::died);
    }

    private Group.Owner owner() {
        return machine;
    }

    private Consumer<byte[], byte[]> consumer(SeatAssignor.Participant participant) {
        var config = standing.config();
        var settings = arbiter.settings();
        return new KafkaConsumer<>(settings.member(
                arbiter.clientId(standing),
                settings.group(standing.election()),
                config.lease(),
                config.standDownBudget(),
                participant));
    }

    // ---------------------------------------------------------------- asked by the candidacy, on the loop

    @Override
    public void claim() {
        claim(0);
    }

    @Override
    public void claim(long least) {
        ask(() -> machine.wanted(least));
    }

    @Override
    public void concede(Duration within) {
        ask(() -> machine.conceded(within));
    }

    @Override
    public void release() {
        ask(machine::released);
    }

    @Override
    public void leave() {
        if (!started && asked.isEmpty()) {
            claimant.left();
            return;
        }
        ask(() -> {
            machine.released();
            over = true;
        });
        if (dead) {
            claimant.left(); // nobody carries that out any more
        }
    }

    private void ask(Runnable wish) {
        asked.add(wish);
        loop.execute( // also if others wait already: their turn may have been lost for lack of memory
                () -> { // behind all that is asked in this turn
                    var batch = List.copyOf(asked);
                    asked.clear();
                    if (batch.isEmpty()) {
                        return;
                    }
                    if (!started) {
                        started = true;
                        arbiter.opened(this);
                        joined = arbiter.journal().join(standing.election(), this);
                        BackendThread.start(thread, this::died);
                    }
                    post(() -> batch.forEach(Runnable::run));
                });
    }

    // ---------------------------------------------------------------- told by the journal, on its thread

    @Override
    public void read(@Nullable Entry entry, ElectionState now) {
        post(() -> {
            if (entry != null) { // else a lease ran out that was read before
                reading.answered();
                arbiter.writesTaken();
                heard();
            }
            machine.noticed(entry, now);
        });
    }

    @Override
    public void failed(ElectionException error) {
        post(() -> {
            if (reading.ends(error, loop.clock().nanos())) {
                machine.resigned(Cause.FAILED);
                claimant.failed(error);
            }
        });
    }

    /** Ends the thread, whatever it is about: the connection is being closed. */
    void abandon() {
        abandoned = true;
        post(() -> {});
        try {
            thread.join(TimeUnit.SECONDS.toMillis(2));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void post(Runnable message) {
        if (dead) {
            return;
        }
        inbox.add(message);
        member.wake();
    }

    // ---------------------------------------------------------------- our thread

    private void run() {
        try {
            while (!over && !abandoned) {
                drain();
                if (over) {
                    break;
                }
                try {
                    turn();
                } catch (InterruptException e) {
                    interrupted(e);
                } catch (KafkaException | IllegalStateException e) {
                    failedOver(e);
                } catch (RuntimeException e) {
                    if (!Interrupts.caused(e)) {
                        throw e;
                    }
                    interrupted(e); // it was the client's thread that beats, of which a poll tells us
                }
            }
        } finally {
            if (over || abandoned) {
                joined.close();
                member.leave();
                arbiter.closed(this);
                if (isReleased()) {
                    claimant.left();
                } else {
                    claimant.leftUnconfirmed();
                }
            }
        }
    }

    /** Whether the brokers have what we wrote last; where there was nothing to write, whether they answered of late. */
    private boolean isReleased() {
        var config = standing.config();
        try {
            return machine.lastRelease().get(config.renewInterval().toNanos(), TimeUnit.NANOSECONDS)
                    && loop.clock().nanos() - readNanos < config.lease().toNanos();
        } catch (ExecutionException | TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Our thread has died of something that is no error of the client: what this candidacy believes of itself is worth
     * nothing.
     */
    private void died(Throwable death) {
        dead = true;
        claimant.failed(new ElectionException(
                "the thread that held the seat of " + standing + " has died; the candidacy ends: " + death, death));
        joined.close();
        member.discard();
        arbiter.closed(this);
        inbox.clear();
        claimant.left();
    }

    private void turn() {
        if (!machine.idle()) {
            listen();
        }
        if (machine.idle()) {
            member.leave();
            await(IDLE);
        } else if (machine.asideNanos() > 0) {
            await(Duration.ofNanos(machine.asideNanos()));
        } else if (!machine.ready()) {
            catchUp();
            await(CATCHING_UP);
        } else {
            member.poll(machine.untilNextTurn());
            if (member.admitted()) {
                failures.passed(); // not before: a poll that was woken says nothing
                if (loop.clock().nanos() - refusedNanos
                        > standing.config().lease().toNanos()) {
                    joining.answered(); // else a heartbeat would have been refused by now
                }
            }
            drain();
            machine.act();
        }
    }

    /**
     * Somebody beats in every renew interval, if there is a leader. If nothing came for longer than that, we ask, since
     * a consumer that finds nobody to read from says so to no one. And brokers that let us read may refuse what we
     * write.
     */
    private void listen() {
        var config = standing.config();
        var silence = config.renewInterval().plus(config.retryInterval()).toNanos();
        var began = loop.clock().nanos();
        if (began - readNanos < silence || began - askedNanos < silence) {
            return;
        }
        askedNanos = began;
        CompletionStage<Boolean> answer = arbiter.upToDate()
                .toCompletableFuture()
                .orTimeout(config.renewInterval().toNanos(), TimeUnit.NANOSECONDS);
        answer.whenComplete((read, error) -> post(() -> {
            var refused = arbiter.writesRefused(config.renewInterval());
            if (error == null && refused.isEmpty()) {
                heard();
            } else {
                // not since we read last: the loop may have heard of that later than it hears of this
                var waited = Duration.ofNanos(loop.clock().nanos() - began);
                claimant.unanswered(waited, error == null ? refused.get() : reason(error));
            }
        }));
    }

    /** A brief wait of ours is no reason; what the brokers said is. */
    private static @Nullable Throwable reason(Throwable error) {
        return Causes.unwrapped(error) instanceof ElectionException said ? said : null;
    }

    private void heard() {
        readNanos = loop.clock().nanos();
        claimant.answered();
    }

    /**
     * A claim is made, and the end of an election seen, only by one who has read all there was when it began to stand.
     */
    private void catchUp() {
        arbiter.upToDate().whenComplete((read, error) -> {
            if (error == null) {
                post(() -> {
                    reading.answered();
                    machine.caughtUp(arbiter.journal().known(standing.election()));
                });
            }
        });
    }

    /** An error of the client that it does not recover from: go on with a new one. */
    private void failedOver(RuntimeException error) {
        var fatal = arbiter.refusal(error);
        if (fatal.isPresent() && !joining.ends(fatal.get(), loop.clock().nanos())) {
            refusedNanos = loop.clock().nanos();
            if (error instanceof AuthenticationException && !machine.hasLed()) {
                renew();
            }
            await(standing.config()
                    .retryInterval()); // the mandate runs on as long as it was proven; the client can go on, too
            return;
        }
        if (fatal.isPresent()) {
            machine.resigned(Cause.FAILED);
            claimant.failed(fatal.get());
        } else {
            failures.warn(
                    log,
                    "the client of " + standing + " failed; standing again with a new one, until that can go on",
                    error);
            machine.lose(Cause.EXPIRED);
        }
        member.discard();
        await(standing.config().retryInterval());
    }

    /** Not by us, who end it otherwise: it goes on, and the candidacy with it. */
    private void interrupted(RuntimeException error) {
        Thread.interrupted();
        if (!abandoned) {
            failedOver(error);
        }
    }

    /**
     * A client reads its certificates once, when it is made, and others may be on the disk by now. Not more than once a
     * lease, since there may be a thousand of us, and it may be for another reason.
     */
    private void renew() {
        var now = loop.clock().nanos();
        if (now - renewedNanos >= standing.config().lease().toNanos()) {
            renewedNanos = now;
            machine.lose(Cause.EXPIRED);
            member.discard();
        }
    }

    private void drain() {
        for (var message = inbox.poll(); message != null; message = inbox.poll()) {
            message.run();
        }
    }

    @Override
    public void await(Duration longest) {
        try {
            var message = inbox.poll(longest.toNanos(), TimeUnit.NANOSECONDS);
            if (message != null) {
                message.run();
            }
        } catch (InterruptedException e) {
            // as above: it waits no longer
        }
    }

    @Override
    public boolean abandoned() {
        return abandoned;
    }
}
