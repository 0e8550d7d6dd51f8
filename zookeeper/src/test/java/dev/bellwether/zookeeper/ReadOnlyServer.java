package dev.bellwether.zookeeper;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A server that has lost its ensemble, as far as a client can tell when it connects: it says that it is read-only, and answers nothing
 * more.
 */
final class ReadOnlyServer implements AutoCloseable {
    private static final int PASSWORD_LENGTH = 16;
    private static final int ANSWER_LENGTH = 4 + 4 + 8 + 4 + PASSWORD_LENGTH + 1;
    private static final int TIMEOUT_MILLIS = 6_000;

    private final ServerSocket listening;

    ReadOnlyServer() {
        try {
            listening = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var thread = new Thread(this::serve, "read-only-server");
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listening.getLocalPort();
    }

    private void serve() {
        while (!listening.isClosed()) {
            try (var socket = listening.accept()) {
                greet(socket);
                while (socket.getInputStream().read() >= 0) {
                    Thread.onSpinWait(); // whatever it asks
                }
            } catch (IOException e) {
                // that client is gone, or we are closed
            }
        }
    }

    private static void greet(Socket socket) throws IOException {
        var in = new DataInputStream(socket.getInputStream());
        in.skipNBytes(in.readInt());
        var out = new DataOutputStream(socket.getOutputStream());
        out.writeInt(ANSWER_LENGTH);
        out.writeInt(0); // version of the protocol
        out.writeInt(TIMEOUT_MILLIS);
        out.writeLong(1); // session
        out.writeInt(PASSWORD_LENGTH);
        out.write(new byte[PASSWORD_LENGTH]);
        out.writeBoolean(true);
        out.flush();
    }

    @Override
    public void close() throws IOException {
        listening.close();
    }
}
