package dev.bellwether.testkit.servers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

/**
 * Ports for servers that must be told theirs beforehand. Below those that the system gives to outgoing connections
 * (32768 and up on Linux), one of which may otherwise sit on a server's port while the server is down for a moment. A
 * file is locked for each until the process ends, since another that tests beside it may look for one at that moment.
 */
public final class Ports {
    private static final int FIRST = 10_000;
    private static final int END = 32_000;
    private static final Path LOCKS =
            Path.of(System.getProperty("java.io.tmpdir"), "bellwether-ports-" + System.getProperty("user.name"));
    /** Who is not referred to is closed, sooner or later. */
    private static final Set<FileChannel> LOCKED = ConcurrentHashMap.newKeySet();

    private static final Set<Integer> GIVEN = Collections.newSetFromMap(new ConcurrentHashMap<>());

    private Ports() {}

    /** Returns a port that is free now, and that neither this process nor another that runs was given before. */
    public static int free() {
        while (GIVEN.size() < (END - FIRST) / 2) {
            var port = ThreadLocalRandom.current().nextInt(FIRST, END);
            if (GIVEN.add(port) && isLocked(lockOf(port)) && isFree(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no free port: " + GIVEN.size() + " were given or found taken");
    }

    /** Returns so many, each another. */
    public static List<Integer> free(int count) {
        return IntStream.range(0, count).mapToObj(i -> free()).toList();
    }

    static Path lockOf(int port) {
        return LOCKS.resolve(String.valueOf(port));
    }

    /** Locks it, until this process ends. Returns whether it did: not if another has. */
    static boolean isLocked(Path file) {
        try {
            Files.createDirectories(LOCKS);
            var channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (channel.tryLock() == null) {
                channel.close();
                return false;
            }
            LOCKED.add(channel);
            return true;
        } catch (IOException e) {
            throw new UncheckedIOException("ports cannot be locked in " + LOCKS, e);
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
