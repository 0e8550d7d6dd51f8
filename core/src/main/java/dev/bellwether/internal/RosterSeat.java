package dev.bellwether.internal;

import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One partition of a roster: its {@link Tenure}, and what that wants done.
 *
 * <p>Confined to the loop, but for {@link #mandate}.
 */
final class RosterSeat implements Tenure.Effects {
    private static final Logger log = LoggerFactory.getLogger(dev.bellwether.Roster.class);

    /** The exit code of a process that was halted because its work outlasted a mandate. */
    private static final int HALTED = 86;

    /** Where a partition's turns are heard. */
    interface Owner {
        void turned(int partition, LeadershipEvent event);

        void working(int partition, Term mandate);

        void stopped(int partition);

        void interrupt(int partition);

        void ended(int partition, Standing standing, Term mandate, Cause cause, Duration held, String detail);

        void changed();
    }

    private final int partition;
    private final Standing standing;
    private final Loop loop;
    private final Owner owner;
    private final Tenure tenure;
    private final Lane events;
    private volatile @Nullable Term mandate;
    private int bites;
    private boolean closed;
    private boolean collapsed;
    private Loop.@Nullable Timer timer;
    private long timerNanos;

    RosterSeat(
            int partition,
            Standing standing,
            Loop loop,
            Executor executor,
            Seat seat,
            Duration pauseBound,
            Owner owner) {
        this.partition = partition;
        this.standing = standing;
        this.loop = loop;
        this.owner = owner;
        events = new Lane(executor, loop, () -> turn(now -> {}));
        tenure = new Tenure(standing, loop.clock(), seat, this, pauseBound);
    }

    /** Returns the mandate that was last published; it may have run out. For any thread. */
    @Nullable
    Term mandate() {
        return mandate;
    }

    Lane events() {
        return events;
    }

    boolean isOver() {
        return closed && events.idle() && bites == 0;
    }

    // ---------------------------------------------------------------- commands

    void start() {
        turn(tenure::start);
    }

    void check() {
        if (tenure.phase() != Phase.CLOSED) {
            turn(tenure::tick);
        }
    }

    void resign() {
        turn(tenure::resign);
    }

    void abandon() {
        turn(tenure::abandon);
    }

    /** Nothing of this seat may be relied on any more. First of all, nobody leads by it. Must not fail. */
    void endMandate() {
        var ending = mandate;
        mandate = null;
        if (ending != null) {
            ending.end();
        }
    }

    /** After {@link #endMandate}: tells the end to whoever was told of the beginning, and lets nothing begin again. */
    void collapse(Cause cause) {
        if (collapsed) {
            return;
        }
        collapsed = true;
        closed = true;
        if (timer != null) {
            timer.cancel();
        }
        var led = tenure.term();
        if (led != null && (tenure.phase() == Phase.LEADING || tenure.phase() == Phase.STANDING_DOWN)) {
            owner.stopped(partition);
            owner.turned(partition, new LeadershipEvent.Fenced(led, cause));
        }
        interruptWork();
    }

    void granted(long token, Proof proof) {
        turn(now -> tenure.granted(now, token, proof));
    }

    void proven(long token, Proof proof) {
        turn(now -> tenure.proven(now, token, proof));
    }

    void asked(long token, Cause cause) {
        turn(now -> tenure.asked(now, token, cause, standing.config().standDownBudget()));
    }

    void lost(long token, Cause cause) {
        turn(now -> tenure.lost(now, token, cause));
    }

    void left() {
        turn(now -> tenure.left(Departure.CONFIRMED));
    }

    /** A bite of one of its roles' tasks begins. */
    void bites() {
        bites++;
    }

    void bitten() {
        bites--;
        turn(now -> {});
    }

    private void turn(Consumer<Moment> command) {
        if (collapsed) {
            return;
        }
        var now = loop.clock().now();
        command.accept(now);
        if (events.idle() && bites == 0) {
            tenure.workEnded(now);
        }
        wakeAt(tenure.wakeAtNanos());
        if (isOver()) {
            owner.changed();
        }
    }

    private void wakeAt(@Nullable Long nanos) {
        if (timer != null && (nanos == null || nanos - timerNanos < 0)) {
            timer.cancel();
            timer = null;
        }
        if (timer == null && nanos != null) {
            timerNanos = nanos;
            timer = loop.at(nanos, () -> {
                timer = null;
                turn(tenure::tick);
            });
        }
    }

    // ---------------------------------------------------------------- what the tenure wants done

    @Override
    public void publish(@Nullable Term present) {
        var changed = mandate != present;
        mandate = collapsed ? null : present;
        if (changed) {
            owner.changed();
        }
    }

    @Override
    public void tell(LeadershipEvent event) {
        owner.turned(partition, event);
    }

    @Override
    public void startWork(Term present) {
        owner.working(partition, present);
    }

    @Override
    public void stopWork() {
        owner.stopped(partition);
    }

    @Override
    public void interruptWork() {
        events.interrupt();
        owner.interrupt(partition);
    }

    @Override
    public void halt(Term ended) {
        log.error("{} is outlasted by work: halting the process, as configured by haltOnOverrun", ended);
        Runtime.getRuntime().halt(HALTED);
    }

    @Override
    public void ended(Term ending, Cause cause, Duration held, String detail) {
        owner.ended(partition, standing, ending, cause, held, detail);
    }

    @Override
    public void closed() {
        closed = true;
    }
}
