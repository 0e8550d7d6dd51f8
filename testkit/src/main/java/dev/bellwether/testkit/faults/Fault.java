package dev.bellwether.testkit.faults;

import java.util.Locale;

/** What a bench can do. */
public enum Fault {
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
    /** All takes longer, each way. */
    SLOW(Victim.LINK),
    /** Its connections break, and what is under way is lost; again and again. */
    RESET(Victim.LINK),
    /** One of its connections dies, and neither end is told; the others live. */
    HALF_DEAD(Victim.LINK),
    /** Its machine loses its power while it waits for an answer: nobody is told, and its connections stay. It is started again when the time is over. */
    VANISH(Victim.LINK),
    /** It leaves in order; another comes when the time is over. */
    LEAVE(Victim.CANDIDATE),
    /** An operator's order to stand down. */
    STAND_DOWN(Victim.ALL),
    /** Its listener does not return; and the operator's order, so that there is something to be heard. */
    BLOCK_LISTENER(Victim.CANDIDATE),
    /** Others take the processors. */
    STARVE(Victim.ALL),
    /** Its wall clock jumps, and back. */
    STEP_CLOCK(Victim.CLOCK),
    /** The wall clock of a server is set back by some leases, for good. */
    STEP_SERVER_BACK(Victim.SERVER_CLOCK),
    /** A server is frozen. */
    FREEZE_SERVER(Victim.SERVER),
    /** A server is killed, and started again when the time is over. */
    KILL_SERVER(Victim.MORTAL_SERVER),
    /** The server that leads the others is killed, and started again when the time is over. */
    KILL_LEADER_OF_SERVERS(Victim.LEADING_SERVER);

    /** Who suffers, and what there must be for that. */
    enum Victim {
        CANDIDATE,
        LINK,
        CLOCK,
        SERVER_CLOCK,
        SERVER,
        MORTAL_SERVER,
        LEADING_SERVER,
        ALL
    }

    private final Victim victim;

    Fault(Victim victim) {
        this.victim = victim;
    }

    Victim victim() {
        return victim;
    }

    boolean hurtsOneCandidate() {
        return victim == Victim.CANDIDATE || victim == Victim.LINK || victim == Victim.CLOCK;
    }

    boolean endsProcess() {
        return this == KILL || this == LEAVE || this == VANISH;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
