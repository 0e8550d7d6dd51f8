package dev.bellwether.kubernetes;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.ForeignRules;
import dev.bellwether.spi.RecordKey;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The electors of others beside which ours stand on one Lease, and what they are configured with. Immutable.
 *
 * @param who by which program they elect
 * @param rules what follows from that for ours
 */
record OtherElectors(Who who, ForeignRules rules) {
    static final List<String> PARAMETERS = List.of("beside", "theirLease", "theirRenewDeadline", "theirRetryPeriod");
    static final String ENDLESS =
            "an election beside others can be neither ended nor deleted: the others would continue it";

    private static final Duration LEASE = Duration.ofSeconds(15);
    private static final Duration RENEW_DEADLINE = Duration.ofSeconds(10);
    private static final Duration RETRY_PERIOD = Duration.ofSeconds(2);
    /** They compare times that are cut to seconds. */
    private static final Duration SHORTEST = Duration.ofSeconds(5);
    /** By so much wall clocks may differ, where one of theirs goes by its own. */
    private static final Duration WALL_CLOCKS = Duration.ofSeconds(1);
    /** Client-go spreads its retries by so much. */
    private static final double SPREAD = 1.2;

    /** By which program they elect. */
    enum Who {
        /** Go's library, which Kubernetes' own programs use. */
        CLIENT_GO("client-go"),
        /** The {@code LeaderElector} of fabric8. */
        FABRIC8("fabric8"),
        /** The {@code LeaderElector} of the official Java client. */
        JAVA("java");

        private final String text;

        Who(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * Reads what a URI says of others; empty if it names none.
     *
     * @throws ElectionException if something in it is wrong
     */
    static Optional<OtherElectors> of(ConnectUri uri) {
        var named = uri.parameter("beside");
        if (named.isEmpty()) {
            for (var name : PARAMETERS) {
                if (uri.parameter(name).isPresent()) {
                    throw new ElectionException(name + " is given without beside: name the program of the others there,"
                            + " client-go, fabric8 or java");
                }
            }
            return Optional.empty();
        }
        if (uri.number("sharing", 0, Integer.MAX_VALUE).orElse(0) > 0) {
            throw new ElectionException("sharing and beside are both given: others do not know a Lease that keeps many"
                    + " seats. Leave sharing out");
        }
        var lease = uri.duration("theirLease").orElse(LEASE);
        var deadline = uri.duration("theirRenewDeadline").orElse(RENEW_DEADLINE);
        var retry = uri.duration("theirRetryPeriod").orElse(RETRY_PERIOD);
        if (lease.compareTo(deadline) <= 0 || deadline.toNanos() <= retry.toNanos() * SPREAD || retry.isZero()) {
            throw new ElectionException("theirLease " + Durations.show(lease) + ", theirRenewDeadline "
                    + Durations.show(deadline) + " and theirRetryPeriod " + Durations.show(retry)
                    + " cannot be: each must be longer than the next, the deadline by a fifth; give what they are"
                    + " configured with");
        }
        var who = who(named.get());
        var clockError = who == Who.CLIENT_GO ? Duration.ZERO : WALL_CLOCKS;
        var rules = new ForeignRules(lease, grace(lease, deadline, retry), clockError);
        if (rules.longestLease().compareTo(SHORTEST) < 0) {
            throw new ElectionException("theirLease is " + Durations.show(lease) + ": beside " + who + " it must be "
                    + Durations.show(SHORTEST.plus(clockError)) + " at least, because ours must not be longer, and"
                    + " they count renewals in seconds");
        }
        return Optional.of(new OtherElectors(who, rules));
    }

    private static Who who(String text) {
        for (var who : Who.values()) {
            if (who.text.equals(text.toLowerCase(Locale.ROOT))) {
                return who;
            }
        }
        throw new ElectionException("beside is \"" + text + "\": it must be client-go, fabric8 or java");
    }

    /**
     * How long one of theirs leads on after its lease is over: an answer comes a renew deadline late, it retries for
     * another after one period, and its attempt to release takes a third. But at least as long as one that has released
     * leads on, whatever its lease: until it has the answer, a renew deadline later. A tenth is added, for clocks.
     */
    private static Duration grace(Duration lease, Duration deadline, Duration retry) {
        var afterLease = deadline.multipliedBy(3).plus(retry).minus(lease);
        var longer = afterLease.compareTo(deadline) > 0 ? afterLease : deadline;
        return longer.multipliedBy(11).dividedBy(10);
    }

    /** Refuses what they could not stand beside. */
    void check(String election, CandidacyConfig candidacy) {
        if (!StoredLease.name(RecordKey.seat(election)).equals(election)) {
            throw new ElectionException("election name \"" + election + "\" cannot be that of a Lease, and others must"
                    + " find it by its name: use at most 253 lower-case letters, digits, - and .");
        }
        if (candidacy.lease().compareTo(SHORTEST) < 0) {
            throw new ElectionException("lease " + Durations.show(candidacy.lease()) + " is shorter than "
                    + Durations.show(SHORTEST) + ": beside " + who + " that is too short, because it counts renewals"
                    + " in seconds");
        }
    }

    Finding finding() {
        return Finding.ok(
                "beside",
                "candidates of " + who + " may stand for the same elections: leases here are "
                        + Durations.show(rules.longestLease())
                        + " at most; after one of theirs was seen to lead, ours lead "
                        + Durations.show(rules.lease().plus(rules.grace())) + " after its last sign, or "
                        + Durations.show(rules.grace()) + " after its release");
    }
}
