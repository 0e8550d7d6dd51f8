package dev.bellwether.testkit;

import dev.bellwether.testkit.Link.Way;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * One connection through a {@link FaultProxy}: two sockets and what is under way between them. Confined to the proxy's
 * thread.
 */
final class FaultProxyConnection {
    private static final int CHUNK = 16 * 1024;
    private static final int HELD_LIMIT = 1024 * 1024;

    private final InetSocketAddress server;
    private final SocketChannel serverSide;
    private final SelectionKey clientKey;
    private final SelectionKey serverKey;
    private final Pipe requests;
    private final Pipe answers;
    private boolean connecting;
    private boolean abandoned;
    private boolean dead;
    private boolean broken;
    private boolean over;

    FaultProxyConnection(SocketChannel clientSide, InetSocketAddress server, Selector selector) throws IOException {
        this.server = server;
        serverSide = SocketChannel.open();
        clientKey = register(clientSide, selector);
        serverKey = register(serverSide, selector);
        requests = new Pipe(clientSide, serverSide);
        answers = new Pipe(serverSide, clientSide);
    }

    private SelectionKey register(SocketChannel side, Selector selector) throws IOException {
        side.configureBlocking(false);
        side.setOption(StandardSocketOptions.TCP_NODELAY, true);
        return side.register(selector, 0, this);
    }

    /** Lets nothing through, whatever becomes of the others, until {@link #revive}. */
    void die() {
        dead = true;
    }

    void revive() {
        dead = false;
    }

    void set(@Nullable Way cut, long delayNanos) {
        requests.cut = abandoned || dead || cut == Way.REQUESTS || cut == Way.BOTH;
        answers.cut = abandoned || dead || cut == Way.ANSWERS || cut == Way.BOTH;
        requests.delayNanos = delayNanos;
        answers.delayNanos = delayNanos;
    }

    /** Carries nothing more, whatever becomes of the link. */
    void abandon() {
        abandoned = true;
        set(Way.BOTH, 0);
    }

    boolean isAbandoned() {
        return abandoned;
    }

    boolean over() {
        return over;
    }

    /** Returns when something that is delayed is due, or null. What a broken one still holds goes nowhere. */
    @Nullable
    Long nextDueNanos() {
        if (broken) {
            return null;
        }
        var one = requests.nextDueNanos();
        var other = answers.nextDueNanos();
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return one - other < 0 ? one : other;
    }

    /** Reads what has come. */
    void ready(SelectionKey key) {
        attempt(() -> {
            if (key.isValid() && key.isConnectable()) {
                serverSide.finishConnect();
            }
            if (key.isValid() && key.isReadable()) {
                (key == clientKey ? requests : answers).read();
            }
        });
    }

    /** Moves what can be moved, and asks to be told of what can be moved next. */
    void pump() {
        attempt(() -> {
            if (!connecting && !requests.cut) { // while it is cut, the server does not even learn that somebody knocks
                connecting = true;
                serverSide.connect(server);
            }
            requests.write();
            answers.write();
            if (requests.finished && answers.finished) {
                close();
            }
        });
        if (over) {
            return;
        }
        if (broken && !requests.cut && !answers.cut) {
            reset(); // one side broke, and nothing keeps the other from knowing it
        } else if (broken) {
            forget(clientKey);
            forget(serverKey);
        } else {
            clientKey.interestOps(requests.readInterest() | answers.writeInterest());
            serverKey.interestOps(
                    serverSide.isConnected()
                            ? answers.readInterest() | requests.writeInterest()
                            : connecting ? SelectionKey.OP_CONNECT : 0);
        }
    }

    /** Ends both sides the hard way. */
    void reset() {
        for (var key : new SelectionKey[] {clientKey, serverKey}) {
            try {
                ((SocketChannel) key.channel())
                        .setOption(StandardSocketOptions.SO_LINGER, 0); // the other end sees a reset
            } catch (IOException e) {
                // this side is closed already
            }
        }
        close();
    }

    /** A connect that fails closes its side, and its key with it. */
    private static void forget(SelectionKey key) {
        if (key.isValid()) {
            key.interestOps(0);
        }
    }

    private void close() {
        over = true;
        for (var key : new SelectionKey[] {clientKey, serverKey}) {
            try {
                key.channel().close();
            } catch (IOException e) {
                // there is nothing more to be done for it
            }
        }
    }

    private void attempt(Step step) {
        if (over || broken) {
            return;
        }
        try {
            step.run();
        } catch (IOException e) {
            broken = true;
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    /** One way. The end of the stream is held, and arrives, like a chunk without bytes. */
    private static final class Pipe {
        private final SocketChannel from;
        private final SocketChannel to;
        private final Deque<Chunk> held = new ArrayDeque<>();
        private int heldBytes;
        private boolean cut;
        private long delayNanos;
        private boolean ended;
        private boolean full;
        private boolean finished;

        private record Chunk(ByteBuffer bytes, long dueNanos) {}

        private Pipe(SocketChannel from, SocketChannel to) {
            this.from = from;
            this.to = to;
        }

        void read() throws IOException {
            var bytes = ByteBuffer.allocate(CHUNK);
            ended = from.read(bytes) < 0;
            bytes.flip();
            heldBytes += bytes.remaining();
            held.add(new Chunk(bytes, System.nanoTime() + delayNanos));
        }

        void write() throws IOException {
            full = false;
            while (!cut && !full && to.isConnected() && !held.isEmpty()) {
                var next = held.element();
                if (next.dueNanos() - System.nanoTime() > 0) {
                    return;
                }
                heldBytes -= to.write(next.bytes());
                full = next.bytes().hasRemaining();
                if (!full) {
                    held.remove();
                }
            }
            if (ended && held.isEmpty() && !cut && !finished && to.isConnected()) {
                finished = true;
                to.shutdownOutput();
            }
        }

        @Nullable
        Long nextDueNanos() {
            return cut || full || held.isEmpty() || !to.isConnected()
                    ? null
                    : (Long) held.element().dueNanos();
        }

        int readInterest() {
            return ended || heldBytes > HELD_LIMIT ? 0 : SelectionKey.OP_READ;
        }

        int writeInterest() {
            return full && !cut ? SelectionKey.OP_WRITE : 0;
        }
    }
}
