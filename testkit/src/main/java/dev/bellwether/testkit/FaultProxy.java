package dev.bellwether.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A TCP link that can be cut: listens on a free port of the loopback, and carries every connection on to one server.
 *
 * <p>Thread-safe; one thread of its own, however many connections. One proxy is one link: give each client that is to
 * be cut off by itself a proxy of its own. While the way is cut, connections stay, what was sent is held (and beyond
 * about a megabyte a connection, left to the sender), and so is the end of a connection; it all arrives after
 * {@link #heal}, in order. A client that connects while the way to the server is cut gets a connection on which nothing
 * happens, because the operating system answers for us. Each call has taken effect when it returns; what had reached
 * the operating system before that still arrives.
 */
public final class FaultProxy implements Link, AutoCloseable {
    private final InetSocketAddress server;
    private final Selector selector;
    private final ServerSocketChannel listening;
    private final int port;
    private final ConcurrentLinkedQueue<Runnable> orders = new ConcurrentLinkedQueue<>();
    private final Thread thread;

    // the thread's own
    private final Set<FaultProxyConnection> connections = new LinkedHashSet<>();
    private @Nullable Way cut;
    private boolean refusing;
    private long delayNanos;
    private boolean closed;

    private FaultProxy(InetSocketAddress server) {
        this.server = server;
        try {
            selector = Selector.open();
            listening = ServerSocketChannel.open();
            listening.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            listening.configureBlocking(false);
            listening.register(selector, SelectionKey.OP_ACCEPT);
            port = ((InetSocketAddress) listening.getLocalAddress()).getPort();
        } catch (IOException e) {
            throw new UncheckedIOException("no port to listen on for " + server, e);
        }
        thread = new Thread(this::run, "fault-proxy-" + port);
        thread.setDaemon(true);
    }

    /**
     * Starts a link to a server, which need not listen yet.
     *
     * @throws java.io.UncheckedIOException if there is no port to listen on
     */
    public static FaultProxy to(String host, int port) {
        var proxy = new FaultProxy(new InetSocketAddress(host, port));
        proxy.thread.start();
        return proxy;
    }

    /** Returns the port that stands for the server. */
    public int port() {
        return port;
    }

    /** Returns how many connections there are now. */
    public int connections() {
        var count = new CompletableFuture<Integer>();
        order(() -> count.complete(connections.size()));
        return count.getNow(0);
    }

    @Override
    public void cut(Way way) {
        order(() -> {
            cut = way;
            spread();
        });
    }

    /**
     * Lets nothing through on one of the connections that are there, counted from 0 from the oldest, and beyond the
     * last from the beginning again. The others, and new ones, stay as they are. {@link #heal} ends it.
     *
     * @return false if there is no connection
     */
    public boolean cutOne(int number) {
        var done = new CompletableFuture<Boolean>();
        order(() -> {
            var all = List.copyOf(connections);
            if (!all.isEmpty()) {
                all.get(number % all.size()).die();
                spread();
            }
            done.complete(!all.isEmpty());
        });
        return done.getNow(false);
    }

    /** Lets everything through again, what was held first; connects again, and without delay. */
    @Override
    public void heal() {
        order(() -> {
            connections.forEach(FaultProxyConnection::revive);
            cut = null;
            refusing = false;
            delayNanos = 0;
            spread();
        });
    }

    /**
     * Resets new connections, as a port does on which nobody listens. Connections that are there stay.
     */
    public void refuse() {
        order(() -> refusing = true);
    }

    @Override
    public void reset() {
        order(() -> List.copyOf(connections).forEach(FaultProxyConnection::reset));
    }

    /**
     * Carries nothing more on the connections that there are, forever: neither end is told, as when a machine loses
     * its power. New connections get through.
     */
    public void abandon() {
        order(() -> connections.forEach(FaultProxyConnection::abandon));
    }

    /** Does so to one of the connections that there are, counted in the order of their beginning, and round. */
    public void abandonOne(int number) {
        order(() -> {
            var living = connections.stream()
                    .filter(connection -> !connection.isAbandoned())
                    .toList();
            if (!living.isEmpty()) {
                living.get(Math.floorMod(number, living.size())).abandon();
            }
        });
    }

    /** Lets everything take this long, each way, from now on. */
    public void delay(Duration each) {
        order(() -> {
            delayNanos = each.toNanos();
            spread();
        });
    }

    /** Resets all connections and listens no more. Idempotent. */
    @Override
    public void close() {
        if (thread.isAlive()) {
            order(() -> closed = true);
            try {
                thread.join(10_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public String toString() {
        return "link from port " + port + " to " + server;
    }

    /** Has the thread do this, and waits until it has. */
    private void order(Runnable order) {
        var done = new CompletableFuture<Void>();
        orders.add(() -> {
            order.run();
            done.complete(null);
        });
        selector.wakeup();
        try {
            done.get(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException(this + " is closed", e);
        }
    }

    // ---------------------------------------------------------------- on the thread

    private void run() {
        try (selector;
                listening) {
            while (!closed) {
                select();
                for (var order = orders.poll(); order != null; order = orders.poll()) {
                    order.run();
                }
                for (var key : selector.selectedKeys()) {
                    if (key.isValid() && key.isAcceptable()) {
                        accept();
                    } else if (key.attachment() instanceof FaultProxyConnection connection) {
                        connection.ready(key);
                    }
                }
                selector.selectedKeys().clear();
                List.copyOf(connections).forEach(FaultProxyConnection::pump);
                connections.removeIf(FaultProxyConnection::over);
            }
            connections.forEach(FaultProxyConnection::reset);
        } catch (IOException e) {
            throw new UncheckedIOException(this + " broke", e);
        }
    }

    private void select() throws IOException {
        var now = System.nanoTime();
        var wait = Long.MAX_VALUE;
        for (var connection : connections) {
            var due = connection.nextDueNanos();
            if (due != null) {
                wait = Math.min(wait, due - now);
            }
        }
        if (wait == Long.MAX_VALUE) {
            selector.select();
        } else if (wait <= 0) {
            selector.selectNow();
        } else {
            selector.select(wait / 1_000_000 + 1);
        }
    }

    private void accept() throws IOException {
        for (SocketChannel client = listening.accept(); client != null; client = listening.accept()) {
            var connection = new FaultProxyConnection(client, server, selector);
            if (refusing) {
                connection.reset();
            } else {
                connections.add(connection);
                connection.set(cut, delayNanos);
            }
        }
    }

    private void spread() {
        connections.forEach(connection -> connection.set(cut, delayNanos));
    }
}
