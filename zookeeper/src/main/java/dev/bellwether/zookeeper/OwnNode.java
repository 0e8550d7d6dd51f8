package dev.bellwether.zookeeper;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A candidate's node that is ours.
 *
 * @param token the zxid that created it
 * @param generation of the session that it goes with
 */
record OwnNode(String name, String path, long owner, long token, long generation) {
    /**
     * The nodes that candidacies of this process know to be theirs. Of two that look for the node of a creation whose answer was lost,
     * in one session and with the same data, each takes one: it does not matter which.
     */
    private static final Set<String> TAKEN = ConcurrentHashMap.newKeySet();

    /** Takes a node for ours; returns false if another candidacy has. */
    static boolean take(long session, String path) {
        return TAKEN.add(key(session, path));
    }

    /** It is no more. */
    static void forget(long session, String path) {
        TAKEN.remove(key(session, path));
    }

    void forget() {
        forget(owner, path);
    }

    private static String key(long session, String path) {
        return Long.toHexString(session) + path;
    }
}
