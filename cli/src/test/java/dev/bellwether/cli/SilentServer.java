package dev.bellwether.cli;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** A server that takes connections and never says a word. The kernel takes them: nobody accepts. */
final class SilentServer implements AutoCloseable {
    private final ServerSocket socket;

    SilentServer() throws IOException {
        socket = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
    }

    int port() {
        return socket.getLocalPort();
    }

    String address() {
        return "127.0.0.1:" + port();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
