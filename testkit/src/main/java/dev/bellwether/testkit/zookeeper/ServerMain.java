package dev.bellwether.testkit.zookeeper;

import java.io.IOException;

/**
 * What a server's process runs.
 *
 * <p>By reflection, so that the testkit depends on no ZooKeeper: who starts servers has it, and what it needs, on the
 * class path.
 */
final class ServerMain {
    private ServerMain() {}

    /** Takes the file of settings. */
    public static void main(String[] args) throws ReflectiveOperationException {
        var parent = new Thread(ServerMain::endWithParent, "parent");
        parent.setDaemon(true);
        parent.start();
        Class.forName("org.apache.zookeeper.server.quorum.QuorumPeerMain")
                .getMethod("main", String[].class)
                .invoke(null, (Object) args);
    }

    /** The standard input is a pipe from anybody who started us: it ends when that process does, however it does. */
    private static void endWithParent() {
        try {
            while (System.in.read() >= 0) {
                Thread.onSpinWait(); // nobody writes to it
            }
        } catch (IOException e) {
            // the same as its end
        }
        Runtime.getRuntime().halt(1);
    }
}
