package dev.bellwether.zookeeper;

import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import java.time.Duration;

/**
 * One sequence of requests that proves for how long the ensemble keeps a session: what to send next, and when.
 *
 * <p>Confined to one thread. A function of its state, of answers and of the time: it reads no clock and sends nothing.
 */
final class ProofRound {
    /*
     * The leader of the ensemble (or the lone server) ends a session, by its clock, when the timeout has passed since
     * it last heard of the session; rounded up to its next tick, never down. Which of our requests tell it of the
     * session?
     *
     *   - Any, if our server is the leader: it notes the session before it answers.
     *   - None directly, if our server is a follower or an observer. That one notes which sessions it has heard of, and
     *   hands its list
     *     over with its reply to the leader's next ping, which comes every half tick. A write that goes through the
     *     follower is checked against the session at the leader, but does not extend it.
     *   - An observer may hang behind a follower (ObserverMaster), which pings it each half tick, puts what it hears
     *   into its own list,
     *     and hands that over with its reply to the leader's ping: two hops.
     *
     * So a round is a sequence of requests on one connection, each sent when the one before was answered:
     *
     *   1. TOUCH: a read. Our server notes the session. From before this one the time counts.
     *   2. SYNC: goes to the leader and back. From now on at most half a tick passes until our server is owed a ping.
     *   3. AWAIT_PING: half a tick, and a tenth of that, whatever the session's timeout is: servers may grant sessions
     *   that are shorter
     *      than a tick (minSessionTimeout), and their lists are handed over no more often for that.
     *   4. SYNC: the leader runs, after the ping has come due.
     *   5. AWAIT_SLACK: a leader that runs sends what is due within this time.
     *   6. SYNC: what comes back has queued behind that ping. So our server has replied to it, with its list.
     *      With two hops: the next request queues behind that reply on its way to the follower in between; 2 to 6 once
     *      more.
     *   7. CHECK: a transaction that changes nothing: it has queued behind the last reply on its way to the leader.
     *   When it is carried
     *      out, the leader has read the list, and keeps the session from then on for the timeout. It is a transaction,
     *      not a read, since only a leader that has not been deposed gets one through; a later leader begins all
     *      sessions again. It also checks that the nodes of those who lead are still there.
     *
     * What is taken on trust: that a leader that answers does not keep a ping that is due back for longer than the
     * slack. Without 4, a leader that was paused through all of 3, and answers ours before it sends the ping that is
     * overdue, would make a proof of nothing.
     *
     * Both ways between two servers keep their order, since each is one TCP connection. If ours broke meanwhile, the
     * round is void: its parts may have gone through different servers.
     */
    enum Step {
        /** Send a read. */
        TOUCH,
        /** Send a sync. */
        SYNC,
        /** Wait until {@link #wakeAtNanos}, for the leader's ping to come due. */
        AWAIT_PING,
        /** Wait until {@link #wakeAtNanos}, for the leader to send what is due. */
        AWAIT_SLACK,
        /** Send the transaction. */
        CHECK,
        /** There is a proof. */
        PROVEN,
        /** This proves nothing. */
        VOID
    }

    private final ProofTiming timing;
    private final Moment since;
    private final Duration timeout;
    private final long connection;

    private Step step = Step.TOUCH;
    private Step afterSync = Step.AWAIT_PING;
    private int hops = 1;
    private long wakeAtNanos;

    /**
     * Begins one.
     *
     * @param since now, before anything is sent
     * @param timeout of the session
     * @param connection a number that is another when the connection is
     */
    ProofRound(ProofTiming timing, Moment since, Duration timeout, long connection) {
        this.timing = timing;
        this.since = since;
        this.timeout = timeout;
        this.connection = connection;
    }

    /** Returns what is to be done now. */
    Step step() {
        return step;
    }

    /** Returns until when to wait, while that is to be done. */
    long wakeAtNanos() {
        return wakeAtNanos;
    }

    /** Returns the moment from which the time counts. */
    Moment since() {
        return since;
    }

    /** Returns the number of the connection that all of it goes through. */
    long connection() {
        return connection;
    }

    /** The touch was answered, by a server from which lists take so many hops to the leader. */
    void touched(int hopsToLeader, long connectionNow) {
        require(Step.TOUCH);
        hops = hopsToLeader;
        become(Step.SYNC, connectionNow);
    }

    /** The sync was answered. */
    void synced(long nowNanos, long connectionNow) {
        require(Step.SYNC);
        switch (afterSync) {
            case AWAIT_PING -> {
                wakeAtNanos = nowNanos + timing.pingNanos();
                afterSync = Step.AWAIT_SLACK;
                become(Step.AWAIT_PING, connectionNow);
            }
            case AWAIT_SLACK -> {
                wakeAtNanos = nowNanos + ProofTiming.SLACK_NANOS;
                hops--;
                afterSync = hops > 0 ? Step.SYNC : Step.CHECK;
                become(Step.AWAIT_SLACK, connectionNow);
            }
            case SYNC -> {
                afterSync = Step.AWAIT_PING;
                become(Step.SYNC, connectionNow);
            }
            case CHECK -> become(Step.CHECK, connectionNow);
            case TOUCH, PROVEN, VOID -> throw new IllegalStateException("nothing follows " + afterSync);
        }
    }

    /** Time has passed. */
    void tick(long nowNanos, long connectionNow) {
        if ((step == Step.AWAIT_PING || step == Step.AWAIT_SLACK) && nowNanos - wakeAtNanos >= 0) {
            become(Step.SYNC, connectionNow);
        }
    }

    /** The transaction was carried out. */
    void checked(long connectionNow) {
        require(Step.CHECK);
        become(Step.PROVEN, connectionNow);
    }

    /** A request failed. */
    void fail() {
        step = Step.VOID;
    }

    /** Returns the proof, of a session that has been negotiated to this timeout meanwhile. */
    Proof proof(Duration negotiated) {
        require(Step.PROVEN);
        return new Proof(since, timeout.compareTo(negotiated) < 0 ? timeout : negotiated);
    }

    private void require(Step expected) {
        if (step != expected) {
            throw new IllegalStateException("to be done is " + step + ", not " + expected);
        }
    }

    /** The only place, but for {@link #fail}, that assigns {@link #step}. */
    private void become(Step next, long connectionNow) {
        step = connectionNow == connection ? next : Step.VOID;
    }
}
