package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.time.Duration;
import java.util.List;

/**
 * What a {@link RecordStore} is like, as far as elections depend on it. Immutable.
 *
 * @param mayVanish whether the store drops records by itself, so that "no record" does not mean "never held"
 * @param unreadable why we may write records but not read them, so that we learn of others only when a write is
 *     refused; empty if we may read
 * @param endless why an election can neither end nor be deleted here; empty if it can
 * @param grace how long a winner waits before it leads, because others hold elections in the same store by rules that
 *     demand it; zero where nobody does
 * @param pause how long a claimant that may not read leaves alone what somebody else wrote
 * @param foreign how long a record that others wrote keeps claimants away from when they see it
 * @param presence how long a standby is listed after its last sign; zero if the store keeps no standbys
 * @param sharing from how many leases of one length on, which one process holds, one record keeps all of them; 0 if
 *     each is to be kept by a record of its own
 * @param others the rules of others who hold elections on the same records and say in each for how long it counts
 */
public record RecordTraits(
        boolean mayVanish,
        String unreadable,
        String endless,
        Duration grace,
        Duration pause,
        Duration foreign,
        Duration presence,
        int sharing,
        ForeignRules others) {
    /** From so many leases on one record keeps them all, unless told otherwise: see {@link #sharing(int)}. */
    public static final int MANY = 16;

    /** The largest number that a URI may name for {@link #sharing(int)}. */
    public static final int MOST = 1_000_000;

    /** The parameters that {@link #of} reads. */
    public static final List<String> PARAMETERS = List.of("presence", "sharing");

    private static final Duration LEAST_PRESENCE = Duration.ofSeconds(1);
    private static final Duration MOST_PRESENCE = Duration.ofDays(366);
    private static final Duration PRESENCE = Duration.ofMinutes(10);

    /** A store that keeps what is written and lists no standbys. */
    public static final RecordTraits PLAIN =
            new RecordTraits(false, "", "", Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO, MANY);

    /** Returns what a store is like in which there are no {@link #others}. */
    public RecordTraits(
            boolean mayVanish,
            String unreadable,
            String endless,
            Duration grace,
            Duration pause,
            Duration foreign,
            Duration presence,
            int sharing) {
        this(mayVanish, unreadable, endless, grace, pause, foreign, presence, sharing, ForeignRules.NONE);
    }

    /**
     * Returns what a store is like that keeps what is written and lists standbys, as this URI wants it.
     *
     * @throws ElectionException if it names a value that cannot be
     */
    public static RecordTraits of(ConnectUri uri) {
        var presence = uri.duration("presence").orElse(PRESENCE);
        if (presence.compareTo(LEAST_PRESENCE) < 0) {
            throw new ElectionException("presence is " + Durations.show(presence) + ": it must be a second at least");
        } else if (presence.compareTo(MOST_PRESENCE) > 0) {
            throw new ElectionException("presence is " + Durations.show(presence) + ": it must be "
                    + Durations.show(MOST_PRESENCE) + " at most");
        }
        return PLAIN.listing(presence).sharing(uri.number("sharing", 0, MOST).orElse(MANY));
    }

    /** Returns the same, for a store that drops records by itself or does not. */
    public RecordTraits vanishing(boolean mayVanish) {
        return new RecordTraits(mayVanish, unreadable, endless, grace, pause, foreign, presence, sharing, others);
    }

    /** Returns the same, for a store that lists a standby for so long after its last sign. */
    public RecordTraits listing(Duration presence) {
        return new RecordTraits(mayVanish, unreadable, endless, grace, pause, foreign, presence, sharing, others);
    }

    /** Returns the same, for a store in which one record keeps this many leases of a process or more; 0 for never. */
    public RecordTraits sharing(int leases) {
        return new RecordTraits(mayVanish, unreadable, endless, grace, pause, foreign, presence, leases, others);
    }

    /**
     * Returns the same, for a store in which others hold elections on the same records, so that one can neither end nor
     * be deleted.
     */
    public RecordTraits beside(ForeignRules others, String endless) {
        return new RecordTraits(mayVanish, unreadable, endless, grace, pause, foreign, presence, 0, others);
    }

    /**
     * Returns whether one record is to keep so many leases. Never where records vanish: a holder that does not write
     * its seat would not notice that it is gone.
     */
    public boolean sharesAmong(int leases) {
        return sharing > 0 && leases >= sharing && !mayVanish && !writeOnly() && !hasGrace() && !others.apply();
    }

    /** Returns whether we may write records and not read them. */
    public boolean writeOnly() {
        return !unreadable.isEmpty();
    }

    /** Returns whether a winner waits before it leads. */
    public boolean hasGrace() {
        return !grace.isZero();
    }

    /** Returns whether standbys are listed. */
    public boolean listsStandbys() {
        return !presence.isZero();
    }
}
