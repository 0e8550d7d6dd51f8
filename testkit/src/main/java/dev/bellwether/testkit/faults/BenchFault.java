package dev.bellwether.testkit.faults;

import java.util.Locale;

/** What a bench can do. */
public enum BenchFault {
    /** SIGKILL; it is started again when the time is over. */
    KILL(Victim.CANDIDATE),
    /** SIGSTOP, for less than a lease. */
    FREEZE_BRIEFLY(Victim.CANDIDATE),
    /** SIGSTOP, for longer than a lease. */
    FREEZE(Victim.CANDIDATE),
    /** SIGSTOP and SIGCONT in turn, some milliseconds each: a process that hardly gets on. */
    STUTTER(Victim.CANDIDATE),
    /** Nothing passes, either way; it arrives late. */
    CUT(Victim.LINK),
    /** What it sends arrives late. */
    CUT_REQUESTS(Victim.LINK),
    /** What it is sent arrives late: its requests are carried out, and it does not know. */
    CUT_ANSWERS(Victim.LINK),
    /** The way to one of several servers is cut; the ways to the others stay. */
    CUT_ONE_SERVER(Victim.ONE_LINK),
    /** One of its connections is dead, and does not say so; the others live, and so do new ones. */
    CUT_ONE_CONNECTION(Victim.LINK),
    /** All takes longer, each way. */
    SLOW(Victim.LINK),
    /** Its connections break, and what is under way is lost; and once more when the time is over. */
    RESET(Victim.LINK),
    /** One of its connections dies, and neither end is told; the others live. */
    HALF_DEAD(Victim.LINK),
    /**
     * Its machine loses its power while it waits for an answer: nobody is told, and its connections stay. It is started
     * again when the time is over.
     */
    VANISH(Victim.LINK),
    /** It leaves in order; another comes when the time is over. */
    LEAVE(Victim.CANDIDATE),
    /** The same, and the thread that closes it is interrupted; its work ends only when it is interrupted, too. */
    LEAVE_INTERRUPTED(Victim.CANDIDATE),
    /** It leaves while it is cut off; every second time the thread that closes it is interrupted. */
    LEAVE_CUT_OFF(Victim.LINK),
    /** SIGKILL; and an operator orders the dead one to stand down, again and again, until another has led. */
    ORDERS_TO_DEAD(Victim.CANDIDATE),
    /** SIGSTOP; and an operator orders the frozen one to stand down, again and again, until another has led. */
    ORDERS_TO_FROZEN(Victim.CANDIDATE),
    /** An operator's order to stand down. */
    STAND_DOWN(Victim.ALL),
    /** Something in its process interrupts all its threads, twice, as a container may that stops an application. */
    INTERRUPT_THREADS(Victim.OURS),
    /** Its listener does not return; and the operator's order, so that there is something to be heard. */
    BLOCK_LISTENER(Victim.CANDIDATE),
    /** Others take the processors. */
    STARVE(Victim.ALL),
    /** Its wall clock jumps, and back. */
    STEP_CLOCK(Victim.CLOCK),
    /** The wall clock of a server is set back by some leases, permanently. */
    STEP_SERVER_BACK(Victim.SERVER_CLOCK),
    /** A server is frozen. */
    FREEZE_SERVER(Victim.SERVER),
    /** A server is killed, and started again when the time is over. */
    KILL_SERVER(Victim.MORTAL_SERVER),
    /** The server that leads the others is killed, and started again when the time is over. */
    KILL_LEADER_OF_SERVERS(Victim.LEADING_SERVER),
    /** What the server keeps of the election is gone, without a trace. */
    DROP_RECORDS(Victim.RECORDS),
    /** It is deleted, as by an operator. */
    DELETE_RECORDS(Victim.RECORDS),
    /** Something that is no record is written over it. */
    SPOIL_RECORDS(Victim.RECORDS);

    /** Who suffers, and what there must be for that. */
    enum Victim {
        CANDIDATE,
        OURS,
        LINK,
        ONE_LINK,
        CLOCK,
        SERVER_CLOCK,
        SERVER,
        MORTAL_SERVER,
        LEADING_SERVER,
        RECORDS,
        ALL
    }

    private final Victim victim;

    BenchFault(Victim victim) {
        this.victim = victim;
    }

    Victim victim() {
        return victim;
    }

    boolean hurtsOneCandidate() {
        return switch (victim) {
            case CANDIDATE, OURS, LINK, ONE_LINK, CLOCK -> true;
            case SERVER_CLOCK, SERVER, MORTAL_SERVER, LEADING_SERVER, RECORDS, ALL -> false;
        };
    }

    boolean endsProcess() {
        return switch (this) {
            case KILL, LEAVE, LEAVE_INTERRUPTED, LEAVE_CUT_OFF, ORDERS_TO_DEAD, VANISH -> true;
            default -> false;
        };
    }

    boolean hurtsRecords() {
        return victim == Victim.RECORDS;
    }

    /**
     * Returns whether the other must not begin while this goes on. An order to stand down is written to the record of
     * the seat: where that is gone, orders rightly find nobody.
     */
    boolean excludes(BenchFault other) {
        return hurtsRecords()
                ? other.hurtsRecords() || other.waitsForAnother()
                : waitsForAnother() && other.hurtsRecords();
    }

    /** Returns whether it ends when another candidate has led. */
    boolean waitsForAnother() {
        return this == ORDERS_TO_DEAD || this == ORDERS_TO_FROZEN;
    }

    /** Returns whether a server is started again at the end, which takes a while. */
    boolean restartsServer() {
        return this == KILL_SERVER || this == KILL_LEADER_OF_SERVERS;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
