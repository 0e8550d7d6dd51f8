package dev.bellwether.internal.roster;

import dev.bellwether.Cause;
import dev.bellwether.Departure;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.internal.election.CandidacyMachine;
import dev.bellwether.internal.election.LocalMandate;
import dev.bellwether.internal.election.MachineTurns;
import dev.bellwether.internal.loop.SerialExecutor;
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
 * One partition of a roster: its {@link CandidacyMachine}, and what that wants done.
 *
 * <p>Confined to the loop, but for {@link #mandate}.
 */
final class RosterSeat implements CandidacyMachine.Effects {
    private static final Logger log = LoggerFactory.getLogger(dev.bellwether.Roster.class);

    /** Where a partition's turns are heard. */
    interface Owner {
        void turned(int partition, LeadershipEvent event);

        /** Whether a step of one of its roles' tasks runs. */
        boolean works(int partition);

        /** Whether none does, but for one that an executor seems to have dropped. */
        boolean isHeard(int partition);

        void stopped(int partition);

        void interrupt(int partition);

        void ended(int partition, Standing standing, LocalMandate mandate, Cause cause, Duration held, String detail);

        void changed();
    }

    private final int partition;
    private final Standing standing;
    private final Loop loop;
    private final Owner owner;
    private final CandidacyMachine machine;
    private final MachineTurns turns;
    private final SerialExecutor events;
    private volatile @Nullable LocalMandate mandate;
    private boolean closed;

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
        events = new SerialExecutor(executor, loop, () -> turn(now -> {}));
        machine = new CandidacyMachine(standing, loop.clock(), seat, this, pauseBound);
        turns = new MachineTurns(machine, loop, this::workHasEnded, this::settled);
    }

    /** Returns the mandate that was last published; it may have run out. For any thread. */
    @Nullable
    LocalMandate mandate() {
        return mandate;
    }

    SerialExecutor events() {
        return events;
    }

    boolean isOver() {
        return closed && workHasEnded();
    }

    boolean workHasEnded() {
        return events.idle() && !owner.works(partition);
    }

    boolean isHeard() {
        return events.isHeard() && owner.isHeard(partition);
    }

    // ---------------------------------------------------------------- commands

    void start() {
        turn(now -> machine.start());
    }

    void check() {
        events.look();
        turn(machine::tick);
    }

    void resign() {
        turn(machine::resign);
    }

    void abandon() {
        turn(machine::abandon);
    }

    /** Returns whether it has been abandoned, and is to be driven until its work has ended or is halted. */
    boolean isToHalt() {
        return machine.isToHalt();
    }

    /** Nobody leads by this seat any more, though nothing else may work at the moment. Needs no memory. */
    void endNow() {
        machine.endNow();
    }

    /** A turn threw: this ends, in order. If this throws as well, it is called again. */
    void broken(ElectionException error) {
        machine.broken(loop.clock().now(), error);
        turn(now -> {});
    }

    void granted(long token, Proof proof) {
        turn(now -> machine.granted(now, token, proof));
    }

    void proven(long token, Proof proof) {
        turn(now -> machine.proven(now, token, proof));
    }

    void asked(long token, Cause cause) {
        turn(now -> machine.asked(now, token, cause, standing.config().standDownBudget()));
    }

    void lost(long token, Cause cause) {
        turn(now -> machine.lost(now, token, cause));
    }

    void left() {
        turn(now -> machine.left(Departure.CONFIRMED));
    }

    /** A step of one of its roles' tasks has ended. */
    void stepEnded() {
        turn(now -> {});
    }

    private void turn(Consumer<Moment> command) {
        turns.take(command);
    }

    private void settled(Moment now) {
        if (isOver()) {
            owner.changed();
        }
    }

    // ---------------------------------------------------------------- what the machine wants done

    @Override
    public void publish(@Nullable LocalMandate present) {
        var changed = mandate != present;
        mandate = present;
        if (changed) {
            owner.changed();
        }
    }

    @Override
    public void tell(LeadershipEvent event) {
        owner.turned(partition, event);
    }

    @Override
    public void startWork(LocalMandate present) {} // it starts when the listener has heard of it

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
    public void interruptLateWork() {
        events.interruptAll();
        owner.interrupt(partition); // no step begins under a mandate that is over
    }

    @Override
    public void halt(LocalMandate ended) {
        MachineTurns.halt(log, ended);
    }

    @Override
    public void ended(LocalMandate ending, Cause cause, Duration held, String detail) {
        owner.ended(partition, standing, ending, cause, held, detail);
    }

    @Override
    public void closed() {
        closed = true;
    }
}
