package dev.bellwether.testkit.servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

/**
 * Ports for servers that must be told theirs beforehand. Below those that the system gives to outgoing connections
 * (32768 and up on Linux), one of which may otherwise sit on a server's port while the server is down for a moment. For
 * each, another port is taken until the process ends, since one that tests beside it may look for one at that moment.
 */
public final class Ports {
    private static final int FIRST = 10_000;
    private static final int END = 21_000;
    /** So far above a port is the one that is taken for it. */
    private static final int GUARD = END - FIRST;

    /** What is not referred to is closed, sooner or later. */
    private static final Set<ServerSocket> GUARDS = ConcurrentHashMap.newKeySet();

    private static final Set<Integer> GIVEN = Collections.newSetFromMap(new ConcurrentHashMap<>());

    private Ports() {}

    /** Returns a port that is free now, and that neither this process nor another that runs was given before. */
    public static int free() {
        while (GIVEN.size() < (END - FIRST) / 2) {
            var port = ThreadLocalRandom.current().nextInt(FIRST, END);
            if (GIVEN.add(port) && isGuarded(port) && isFree(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no free port: " + GIVEN.size() + " were given or found taken");
    }

    /** Returns so many, each another. */
    public static List<Integer> free(int count) {
        return IntStream.range(0, count).mapToObj(i -> free()).toList();
    }

    /** Takes it for this process, until that ends. Returns whether it did: not if another has. */
    static boolean isGuarded(int port) {
        try {
            return GUARDS.add(new ServerSocket(port + GUARD, 1, InetAddress.getLoopbackAddress()));
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean isFree(int port) {
        try (var socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
