package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.Never;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What leadership protects: takes writes of all who believe that they lead, and refuses a token lower than the highest
 * it has seen.
 *
 * <p>Each write tells when its writer looked whether it led. So the register knows two things. <em>By arrival</em>:
 * what a guard had to refuse, since its writer was stopped, or the network slow, between the look and the write; that
 * is allowed, and what guards are for. <em>By the look</em>: whether somebody believed in a token when another already
 * believed in a higher one; that must never be. Thread-safe.
 */
public final class Register implements AutoCloseable {
    private final ServerSocket listening;
    private final Map<Long, Writes> byToken = new TreeMap<>(); // guarded by this
    private final List<String> faults = new ArrayList<>(); // guarded by this
    private long highest; // guarded by this
    private long accepted; // guarded by this
    private long refused; // guarded by this

    /** What came under one token: the certain interval, from the end of the first look to the beginning of the last. */
    private record Writes(int writer, long firstNanos, long lastNanos) {}

    Register() {
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException("no register", e);
        }
        start(this::accept);
    }

    private static void start(Runnable task) {
        var thread = new Thread(task, "bellwether-register");
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listening.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                var socket = listening.accept();
                start(() -> serve(socket));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void serve(Socket socket) {
        try (socket;
                var in = new DataInputStream(new BufferedInputStream(socket.getInputStream()))) {
            socket.setTcpNoDelay(true);
            while (true) {
                var writer = in.readInt();
                var taken = write(writer, in.readLong(), in.readLong(), in.readLong());
                socket.getOutputStream().write(taken ? 1 : 0);
            }
        } catch (EOFException e) {
            // it has left
        } catch (IOException e) {
            // it was killed
        }
    }

    /** Takes a write, or refuses it. It is of a process that has this number, and led at an instant between the two. */
    synchronized boolean write(int writer, long token, long beforeNanos, long afterNanos) {
        var known = byToken.get(token);
        if (known == null) {
            byToken.put(token, new Writes(writer, afterNanos, beforeNanos));
        } else if (known.writer != writer) {
            faults.add(Never.mark(
                    "token %d was written by process %d and by process %d".formatted(token, known.writer, writer)));
        } else {
            byToken.put(token, new Writes(writer, known.firstNanos, beforeNanos));
        }
        if (token < highest) {
            refused++;
            return false;
        }
        highest = token;
        accepted++;
        return true;
    }

    synchronized long accepted() {
        return accepted;
    }

    synchronized long refused() {
        return refused;
    }

    /**
     * Returns what must never be: two processes under one token, and a lower token believed in after a higher one was.
     */
    synchronized List<String> faults() {
        var all = new ArrayList<>(faults);
        var higher = Long.MAX_VALUE; // when a higher token was first believed in
        var by = 0L;
        var tokens = new ArrayList<>(byToken.keySet());
        Collections.reverse(tokens);
        for (var token : tokens) {
            var writes = byToken.getOrDefault(token, new Writes(0, 0, 0));
            if (by != 0 && writes.lastNanos - higher > 0) {
                all.add(Never.mark("token %d was believed in %d ns after token %d was"
                        .formatted(token, writes.lastNanos - higher, by)));
            }
            if (by == 0 || writes.firstNanos - higher < 0) {
                higher = writes.firstNanos;
                by = token;
            }
        }
        return all;
    }

    @Override
    public void close() {
        try {
            listening.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
