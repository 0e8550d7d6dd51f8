package dev.bellwether.testkit.faults;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.locks.LockSupport;

/**
 * Writes to the {@link Register} whenever its candidate believes that it leads, on a thread of its own: as an
 * application does.
 */
final class RegisterWriter implements AutoCloseable {
    static final String THREAD = "bellwether-write";
    private static final long PAUSE_NANOS = 500_000;

    private final LeadershipSampler.Subject subject;
    private final int number;
    private final Socket socket;
    private final Thread thread = new Thread(this::run, THREAD);
    private volatile boolean over;

    RegisterWriter(LeadershipSampler.Subject subject, int number, int port) throws IOException {
        this.subject = subject;
        this.number = number;
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try (var out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()))) {
            var in = socket.getInputStream();
            while (!over) {
                var token = subject.token();
                var before = System.nanoTime();
                var leads = subject.isLeader();
                var after = System.nanoTime();
                if (leads && subject.token() == token) {
                    out.writeInt(number);
                    out.writeLong(token);
                    out.writeLong(before);
                    out.writeLong(after);
                    out.flush();
                    if (in.read() < 0) {
                        return;
                    }
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } catch (IOException e) {
            // the bench has ended, and so must we
        }
    }

    @Override
    public void close() {
        over = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
