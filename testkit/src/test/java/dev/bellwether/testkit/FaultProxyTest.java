package dev.bellwether.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.testkit.Link.Way;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FaultProxyTest {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    /** How long to look for what must not come: enough for the loopback many times over. */
    private static final int A_WHILE_MILLIS = 150;

    private static final long BUSY_NANOS = Duration.ofMillis(200).toNanos();

    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final AtomicLong arrived = new AtomicLong();
    private Echo echo;
    private FaultProxy proxy;

    // JUnit calls start before anything else can look
    @SuppressWarnings("NullAway.Init")
    FaultProxyTest() {}

    @BeforeEach
    void start() throws IOException {
        echo = new Echo();
        proxy = FaultProxy.to("localhost", echo.listening.getLocalPort());
    }

    @AfterEach
    void stop() throws IOException {
        proxy.close();
        for (var socket : sockets) {
            socket.close();
        }
        echo.listening.close();
    }

    @Test
    void whatIsSentArrivesBothWays() throws IOException {
        var client = connect();
        send(client, "hello");
        assertThat(receive(client, 5)).isEqualTo("hello");
    }

    @Test
    void muchIsCarriedUnharmedThroughSmallBuffers() throws IOException {
        var client = connect();
        var bytes = new byte[8 * 1024 * 1024];
        new Random(7).nextBytes(bytes);
        var sending = CompletableFuture.runAsync(
                () -> {
                    try {
                        client.getOutputStream().write(bytes);
                    } catch (IOException e) {
                        throw new AssertionError(e);
                    }
                },
                task -> new Thread(task, "sender").start());
        assertThat(client.getInputStream().readNBytes(bytes.length)).isEqualTo(bytes);
        sending.join();
    }

    @Test
    void whileCutNothingComesAndNobodyIsTold() throws IOException {
        var client = connect();
        exchange(client);
        // tag::cut
        proxy.cut();
        send(client, "held");
        assertNothingComes(client);
        assertThat(arrived.get()).as("bytes at the server").isEqualTo(5);
        proxy.heal();
        assertThat(receive(client, 4)).isEqualTo("held");
        // end::cut
    }

    @Test
    void ofSeveralConnectionsOneCanBeDeadAndIsRevived() throws IOException {
        assertThat(proxy.cutOne(0)).as("there is none").isFalse();
        var first = connect();
        exchange(first);
        var second = connect();
        exchange(second);
        assertThat(proxy.cutOne(3)).isTrue(); // beyond the last, so from the beginning: the second
        send(second, "late");
        exchange(first);
        exchange(connect());
        assertNothingComes(second);
        proxy.heal();
        assertThat(receive(second, 4)).isEqualTo("late");
    }

    @Test
    void cutRequestsDoNotArriveWhileAnswersPass() throws IOException {
        var client = connect();
        exchange(client);
        proxy.cut(Way.REQUESTS);
        send(client, "held");
        echo.say("news");
        assertThat(receive(client, 4)).isEqualTo("news");
        assertNothingComes(client);
        assertThat(arrived.get()).isEqualTo(5);
        proxy.heal();
        assertThat(receive(client, 4)).isEqualTo("held");
    }

    @Test
    void cutAnswersDoNotArriveWhileRequestsPass() throws IOException {
        var client = connect();
        exchange(client);
        proxy.cut(Way.ANSWERS);
        send(client, "done");
        Eventually.eventually("the request arrives", PATIENCE, () -> arrived.get() == 9);
        assertNothingComes(client);
        proxy.heal();
        assertThat(receive(client, 4)).isEqualTo("done");
    }

    @Test
    void cutOneWayTheOtherOpensAgain() throws IOException {
        var client = connect();
        proxy.cut(Way.REQUESTS);
        send(client, "held");
        proxy.cut(Way.ANSWERS);
        Eventually.eventually("what was held arrives", PATIENCE, () -> arrived.get() == 4);
        assertNothingComes(client);
    }

    @Test
    void theEndOfAConnectionIsHeldToo() throws IOException {
        var client = connect();
        exchange(client);
        proxy.cut();
        echo.hangUp();
        assertNothingComes(client);
        proxy.heal();
        assertThat(client.getInputStream().read()).as("the end").isEqualTo(-1);
    }

    @Test
    void anEndPassesAndWhatWasSentBeforeItToo() throws IOException {
        var client = connect();
        send(client, "last");
        client.shutdownOutput();
        assertThat(receive(client, 4)).isEqualTo("last");
        assertThat(client.getInputStream().read()).isEqualTo(-1);
        Eventually.eventually("nothing is left of it", PATIENCE, () -> proxy.connections() == 0);
    }

    @Test
    void whoConnectsWhileCutWaitsAndTheServerDoesNotKnow() throws IOException {
        proxy.cut();
        var client = connect();
        send(client, "knock");
        assertNothingComes(client);
        assertThat(echo.accepted).isEmpty();
        proxy.heal();
        assertThat(receive(client, 5)).isEqualTo("knock");
    }

    @Test
    void resetBreaksBothEndsAndLosesWhatWasHeld() throws IOException {
        var client = connect();
        exchange(client);
        proxy.cut();
        send(client, "lost");
        Eventually.eventually("it is held", PATIENCE, () -> proxy.connections() == 1);
        proxy.reset();
        assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketException.class);
        Eventually.eventually("the server notices", PATIENCE, () -> echo.broken.get() == 1);
        proxy.heal();
        assertThat(arrived.get()).isEqualTo(5);
        exchange(connect());
    }

    @Test
    void refusedIsWhoComesNewOnly() throws IOException {
        var old = connect();
        exchange(old);
        proxy.refuse();
        assertThatThrownBy(() -> {
                    var client = connect();
                    send(client, "hello");
                    client.getInputStream().read();
                    throw new AssertionError("was let in");
                })
                .isInstanceOf(IOException.class);
        exchange(old);
        proxy.heal();
        exchange(connect());
    }

    @Test
    void delayHoldsEachWayForSoLongAndKeepsTheOrder() throws IOException {
        var client = connect();
        exchange(client);
        proxy.delay(Duration.ofMillis(100));
        var sent = System.nanoTime();
        send(client, "on");
        send(client, "time");
        assertThat(receive(client, 6)).isEqualTo("ontime");
        assertThat(Duration.ofNanos(System.nanoTime() - sent)).isGreaterThanOrEqualTo(Duration.ofMillis(200));
        proxy.heal();
        exchange(client);
    }

    @Test
    void aServerThatIsNotThereResetsTheClient() throws IOException {
        try (var bound = new Socket()) { // bound, so that nobody else listens there, and not listening
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            proxy.close();
            proxy = FaultProxy.to("localhost", bound.getLocalPort());
            assertThatThrownBy(() -> {
                        var client = connect(); // the reset may come as early as this
                        send(client, "hello");
                        throw new AssertionError("was let in, and read "
                                + client.getInputStream().read());
                    })
                    .isInstanceOf(IOException.class);
        }
    }

    @Test
    void aServerThatIsNotThereEndsNoLinkWhoseAnswersAreCut() throws IOException {
        try (var bound = new Socket()) {
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            proxy.close();
            proxy = FaultProxy.to("localhost", bound.getLocalPort());
            proxy.cut(Way.ANSWERS);
            var client = connect();
            assertNothingComes(client);
            proxy.heal();
            assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketException.class);
            Eventually.eventually("it is forgotten", PATIENCE, () -> proxy.connections() == 0);
        }
    }

    @Test
    void oneWhoseServerHasClosedCostsNoProcessorTimeWhileItsAnswersAreCut() throws IOException {
        var client = connect();
        exchange(client);
        proxy.cut(Way.ANSWERS);
        echo.accepted.get(0).close();
        for (var i = 0; i < 10; i++) {
            send(client, "nobody reads it");
            assertNothingComes(client);
        }
        var proxys = processorNanos(proxyThread());
        var ours = processorNanos(Thread.currentThread());
        while (processorNanos(Thread.currentThread()) - ours < BUSY_NANOS) {
            Thread.onSpinWait(); // on a machine that is busy as well, both would get as much
        }
        assertThat(processorNanos(proxyThread()) - proxys)
                .as("processor time of the proxy's thread")
                .isLessThan(BUSY_NANOS / 10);
        proxy.heal();
        assertThatThrownBy(() -> client.getInputStream().read())
                .as("the link to the server was broken")
                .isInstanceOf(SocketException.class);
    }

    private Thread proxyThread() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("fault-proxy-" + proxy.port()))
                .findFirst()
                .orElseThrow();
    }

    private static long processorNanos(Thread thread) {
        return ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.getId());
    }

    @Test
    void aHundredConnectionsCostOneThreadAndCloseEndsThemAll() throws IOException {
        var clients = new ArrayList<Socket>();
        for (var i = 0; i < 100; i++) {
            clients.add(connect());
        }
        for (var client : clients) {
            exchange(client);
        }
        assertThat(proxy.connections()).isEqualTo(100);
        assertThat(Thread.getAllStackTraces().keySet())
                .filteredOn(thread -> thread.getName().equals("fault-proxy-" + proxy.port()))
                .hasSize(1);
        proxy.close();
        proxy.close();
        for (var client : clients) {
            assertThatThrownBy(() -> {
                        if (client.getInputStream().read() < 0) {
                            throw new IOException("ended");
                        }
                    })
                    .isInstanceOf(IOException.class);
        }
        assertThatThrownBy(() -> connect()).isInstanceOf(IOException.class);
    }

    // ---------------------------------------------------------------- the ends

    private Socket connect() throws IOException {
        var socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
        sockets.add(socket);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout((int) PATIENCE.toMillis());
        return socket;
    }

    private static void exchange(Socket client) throws IOException {
        send(client, "hello");
        assertThat(receive(client, 5)).isEqualTo("hello");
    }

    private static void send(Socket client, String text) throws IOException {
        client.getOutputStream().write(text.getBytes(UTF_8));
    }

    private static String receive(Socket client, int bytes) throws IOException {
        return new String(client.getInputStream().readNBytes(bytes), UTF_8);
    }

    private static void assertNothingComes(Socket client) throws IOException {
        client.setSoTimeout(A_WHILE_MILLIS);
        assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
        client.setSoTimeout((int) PATIENCE.toMillis());
    }

    /** Sends back what comes, a thread for each connection. */
    private final class Echo {
        private final ServerSocket listening = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        private final List<Socket> accepted = new CopyOnWriteArrayList<>();
        private final AtomicLong broken = new AtomicLong();

        private Echo() throws IOException {
            start(this::accept);
        }

        private void accept() {
            try {
                while (true) {
                    var socket = listening.accept();
                    socket.setTcpNoDelay(true);
                    sockets.add(socket);
                    accepted.add(socket);
                    start(() -> serve(socket));
                }
            } catch (IOException e) {
                // the test is over
            }
        }

        private void serve(Socket socket) {
            var bytes = new byte[4096];
            try (socket) {
                for (var n = socket.getInputStream().read(bytes);
                        n >= 0;
                        n = socket.getInputStream().read(bytes)) {
                    arrived.addAndGet(n);
                    socket.getOutputStream().write(bytes, 0, n);
                }
            } catch (IOException e) {
                broken.incrementAndGet();
            }
        }

        void say(String text) throws IOException {
            send(accepted.get(0), text);
        }

        void hangUp() throws IOException {
            accepted.get(0).shutdownOutput();
        }

        private static void start(Runnable work) {
            var thread = new Thread(work, "echo");
            thread.setDaemon(true);
            thread.start();
        }
    }
}
