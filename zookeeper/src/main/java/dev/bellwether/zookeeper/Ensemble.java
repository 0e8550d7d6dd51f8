package dev.bellwether.zookeeper;

/**
 * What the servers say of their ensemble, in lines such as {@code server.1=host:2888:3888:participant;0.0.0.0:2181}.
 * One that stands alone says nothing.
 */
final class Ensemble {
    /** From an observer behind an {@code ObserverMaster}: to that, and on to the leader. */
    static final int MOST_HOPS = 2;

    private Ensemble() {}

    /**
     * Returns in how many hops the server that says so may hand its list of sessions on to the leader. An observer is
     * named as one in its own configuration; whether it hangs behind an {@code ObserverMaster}, nobody tells.
     */
    static int hops(String ensemble) {
        return ensemble.lines().anyMatch(line -> isServer(line) && isObserver(line)) ? MOST_HOPS : 1;
    }

    /** Returns how many servers vote; 0 of one that stands alone. */
    static long voters(String ensemble) {
        return ensemble.lines()
                .filter(line -> isServer(line) && !isObserver(line))
                .count();
    }

    private static boolean isServer(String line) {
        return line.startsWith("server.");
    }

    private static boolean isObserver(String line) {
        return line.contains(":observer");
    }
}
