package dev.bellwether.zookeeper;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.data.Stat;

/**
 * A candidate's node that is ours.
 *
 * @param token the zxid that created it
 * @param generation of the session that it goes with
 */
record OwnNode(String name, String path, long owner, long token, long generation) {
    /**
     * The nodes that candidacies of this process know to be theirs. Of two that look for the node of a creation whose
     * answer was lost, in one session and with the same data, each takes one: it does not matter which.
     */
    private static final Map<Long, Set<String>> TAKEN = new ConcurrentHashMap<>();

    /** Takes a node for ours; returns false if another candidacy has. */
    static boolean take(long session, String path) {
        var taken = new boolean[1];
        TAKEN.compute(session, (id, present) -> {
            var paths = present == null ? ConcurrentHashMap.<String>newKeySet() : present;
            taken[0] = paths.add(path);
            return paths;
        });
        return taken[0];
    }

    /** Takes one of these for ours, if there is one that no other candidacy has taken. */
    static Optional<String> takeOne(long session, List<String> paths) {
        return paths.stream().filter(path -> take(session, path)).findFirst();
    }

    /** Returns whether a candidacy knows it for its own. */
    static boolean isTaken(long session, String path) {
        return TAKEN.getOrDefault(session, Set.of()).contains(path);
    }

    /** It is no more. */
    static void forget(long session, String path) {
        TAKEN.computeIfPresent(session, (id, paths) -> {
            paths.remove(path);
            return paths.isEmpty() ? null : paths;
        });
    }

    /** The session is no more, and none of its nodes. */
    static void forget(long session) {
        TAKEN.remove(session);
    }

    void forget() {
        forget(owner, path);
    }

    /** Returns whether this is the state of our node, and not of one that was given its name later. */
    boolean is(Stat stat) {
        return stat.getCzxid() == token && stat.getEphemeralOwner() == owner;
    }

    /** Returns how many nodes of a session are taken. */
    static int taken(long session) {
        return TAKEN.getOrDefault(session, Set.of()).size();
    }
}
