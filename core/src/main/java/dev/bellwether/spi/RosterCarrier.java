package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterState;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * What carries rosters: a log of <em>M</em> partitions, and a group that deals them out to its members by
 * {@link Balance}, each to one at a time as far as the group can tell. Core decides which member leads.
 *
 * <p>The session of a member is the {@link RosterConfig#lease}. Partitions must be moved without disturbing the others.
 */
public interface RosterCarrier {

    /**
     * Refuses, with an {@link dev.bellwether.ElectionException} that says what would be right, what cannot be honoured.
     */
    default void check(String roster, RosterConfig config) {}

    /**
     * Returns whether a record is handed to none but the owner of its partition, and not after the session of that
     * owner is over. If not, core asks the group by commits.
     */
    default boolean readsAreFenced() {
        return false;
    }

    /** Reads who is in a roster and has what; empty if there is no such roster. */
    default CompletionStage<Optional<RosterState>> read(String roster) {
        return CompletableFuture.failedFuture(new ElectionException("rosters cannot be read from outside here"));
    }

    /** Joins. Returns at once, and tells the observer what comes of it. */
    GroupMembership join(RosterStanding standing, GroupObserver observer, Loop loop);
}
