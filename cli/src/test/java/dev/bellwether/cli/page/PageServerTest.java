package dev.bellwether.cli.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** By hand on a socket, since no client of ours would send what an attacker's would. */
@Timeout(60)
class PageServerTest {
    private final Feed feed = new Feed();
    private final List<Map<String, String>> ordered = new CopyOnWriteArrayList<>();
    private final PageServer page = PageServer.start(
            new LocalHttp.Place(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), List.of("ops.example")),
            feed,
            () -> 7.5,
            words -> {
                if (words.containsKey("refuse")) {
                    throw new IllegalStateException("not now");
                }
                ordered.add(words);
            });

    @AfterEach
    void close() {
        page.close();
    }

    @Test
    void pageListensOnTheLoopbackAndSaysWhatItMayLoad() throws IOException {
        assertThat(page.address()).matches("http://(127\\.0\\.0\\.1|\\[[0:]+1]):\\d+/");
        assertThat(get("/", "localhost"))
                .startsWith("HTTP/1.1 200")
                .contains("default-src 'none'; script-src 'self'")
                .contains("<!doctype html>");
        assertThat(get("/etc/passwd", "localhost")).startsWith("HTTP/1.1 404");
        assertThat(get("/../page.html", "localhost")).startsWith("HTTP/1.1 4");
    }

    @Test
    void oneThatCallsUsByANameThatIsNotOursIsTurnedAway() throws IOException {
        for (var host :
                List.of("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "")) {
            assertThat(get("/", host)).as(host).startsWith("HTTP/1.1 421");
            assertThat(get("/events", host)).as(host).startsWith("HTTP/1.1 421");
            assertThat(order("action=kill", host, token())).as(host).startsWith("HTTP/1.1 421");
        }
        for (var host : List.of("localhost", "localhost:9", "127.0.0.1:9", "[::1]:9", "10.0.0.1", "OPS.example:80")) {
            assertThat(get("/", host)).as(host).startsWith("HTTP/1.1 200");
        }
        assertThat(ordered).isEmpty();
    }

    @Test
    void onlyTheHeadIsAnsweredWhereNoMoreIsAskedFor() throws IOException {
        for (var path : List.of("/", "/events")) {
            assertThat(exchange("HEAD " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
                    .as(path)
                    .startsWith("HTTP/1.1 200")
                    .endsWith("\r\n\r\n");
        }
        assertThat(exchange("PUT / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 405")
                .contains("Allow: GET, HEAD");
    }

    /** Such as the check of a load balancer, which must not take a server for dead that is well. */
    @Test
    void oneThatNamesNoHostIsNoBrowserAndIsAnswered() throws IOException {
        assertThat(exchange("GET / HTTP/1.0\r\n\r\n")).startsWith("HTTP/1.1 200");
        assertThat(exchange("POST /order HTTP/1.0\r\nContent-Length: 11\r\n\r\naction=kill"))
                .startsWith("HTTP/1.1 403");
        assertThat(ordered).isEmpty();
    }

    @Test
    void ordersNeedTheTokenAsAHeader() throws IOException {
        assertThat(order("action=kill", "localhost", "")).startsWith("HTTP/1.1 403");
        assertThat(order("action=kill", "localhost", "X-Bellwether-Token: wrong\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(order("action=kill&token=" + secret(), "localhost", "")).startsWith("HTTP/1.1 403");
        assertThat(get("/order?action=kill&token=" + secret(), "localhost")).startsWith("HTTP/1.1 405");
        assertThat(ordered).isEmpty();

        assertThat(order("action=kill&name=a%26b", "localhost", token())).startsWith("HTTP/1.1 204");
        assertThat(ordered).containsExactly(Map.of("action", "kill", "name", "a&b"));
    }

    @Test
    void otherSitesMayNotOrderEvenWithTheToken() throws IOException {
        assertThat(order("action=kill", "localhost:1", token() + "Origin: http://evil.example\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(order("action=kill", "localhost:1", token() + "Origin: null\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(ordered).isEmpty();

        assertThat(order("action=kill", "localhost:1", token() + "Origin: http://localhost:1\r\n"))
                .startsWith("HTTP/1.1 204");
    }

    @Test
    void ordersAreTakenBehindAProxyWithTls() throws IOException {
        assertThat(order("action=kill", "ops.example", token() + "Origin: https://ops.example\r\n"))
                .startsWith("HTTP/1.1 204");
        assertThat(order("action=kill", "ops.example", token() + "Origin: https://evil.example\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(order("action=kill", "ops.example", "Origin: https://ops.example\r\n"))
                .startsWith("HTTP/1.1 403");
        assertThat(ordered).hasSize(1);
    }

    @Test
    void browsersThatAskWhetherTheyMayAreNotTold() throws IOException {
        var question = """
                OPTIONS /order HTTP/1.1
                Host: localhost
                Origin: http://evil.example
                Access-Control-Request-Method: POST
                Connection: close

                """;
        var answer = exchange(question.replace("\n", "\r\n"));

        assertThat(answer).startsWith("HTTP/1.1 405").doesNotContainIgnoringCase("Access-Control-Allow");
    }

    @Test
    void refusedOrderSaysWhy() throws IOException {
        assertThat(order("refuse=1", "localhost", token()))
                .startsWith("HTTP/1.1 409")
                .endsWith("not now\n");
        assertThat(order("x".repeat(5_000), "localhost", token())).startsWith("HTTP/1.1 413");
    }

    @Test
    void streamTellsEverythingThenWhatChangesAndGoesOnWhereItEnded() throws IOException {
        feed.put("row", "ann", json -> json.writeNumberField("x", 1));
        String id;
        try (var stream = new Stream("")) {
            assertThat(stream.next()).contains("\"now\":7.5,\"fresh\":true").contains("\"id\":\"row:ann\"", "\"x\":1");
            feed.put("row", "ann", json -> json.writeNumberField("x", 2));
            feed.put("row", "bob", json -> json.writeNumberField("x", 3));
            var told = stream.next() + stream.next();
            assertThat(told).contains("\"x\":2", "\"x\":3").doesNotContain("\"fresh\":true", "\"x\":1");
            id = stream.lastId;
        }
        feed.remove("row", "bob");
        try (var stream = new Stream("Last-Event-ID: " + id + "\r\n")) {
            assertThat(stream.next())
                    .contains("\"fresh\":false")
                    .doesNotContain("row:ann")
                    .contains("\"is\":\"gone\"");
        }
        try (var stream = new Stream("Last-Event-ID: another.5\r\n")) {
            assertThat(stream.next()).contains("\"fresh\":true").contains("row:ann");
        }
    }

    @Test
    void whatIsGoneIsForgottenInTheEndAndWhoHasNotHeardOfItIsSentEverything() throws IOException {
        feed.put("row", "ann", json -> json.writeNumberField("x", 1));
        feed.put("term", "0", json -> json.writeNumberField("x", 2));
        var early = feed.since(0).version();
        for (var i = 0; i < 10_000; i++) {
            feed.put("term", Integer.toString(i + 1), json -> json.writeNumberField("x", 2));
            feed.remove("term", Integer.toString(i));
        }

        assertThat(feed.since(0).objects()).hasSize(2);
        assertThat(feed.since(early).objects()).hasSize(2);
        String id;
        try (var stream = new Stream("")) {
            assertThat(stream.next()).contains("\"fresh\":true", "row:ann", "term:10000");
            id = stream.lastId;
        }
        var run = id.substring(0, id.indexOf('.') + 1);
        try (var stream = new Stream("Last-Event-ID: " + run + early + "\r\n")) {
            assertThat(stream.next())
                    .contains("\"fresh\":true", "row:ann", "term:10000")
                    .doesNotContain("gone");
        }
        feed.remove("term", "10000");
        try (var stream = new Stream("Last-Event-ID: " + id + "\r\n")) {
            assertThat(stream.next())
                    .contains("\"fresh\":false", "\"is\":\"gone\"")
                    .doesNotContain("row:ann");
        }
    }

    @Test
    void tooManyStreamsAreTurnedAway() throws IOException {
        var streams = new ArrayList<Stream>();
        try {
            for (var i = 0; i < 16; i++) {
                streams.add(new Stream(""));
                streams.get(i).next();
            }
            assertThat(get("/events", "localhost")).startsWith("HTTP/1.1 503");
        } finally {
            for (var stream : streams) {
                stream.close();
            }
        }
    }

    private String secret() {
        return page.url().substring(page.url().indexOf("#token=") + 7);
    }

    private String token() {
        return LocalHttp.TOKEN_HEADER + ": " + secret() + "\r\n";
    }

    private String get(String path, String host) throws IOException {
        return exchange("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    }

    private String order(String body, String host, String headers) throws IOException {
        return exchange("POST /order HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "Content-Length: " + body.length()
                + "\r\nConnection: close\r\n\r\n" + body);
    }

    private String exchange(String request) throws IOException {
        try (var socket = connect()) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private Socket connect() throws IOException {
        var address = page.address();
        var port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1, address.length() - 1));
        return new Socket(InetAddress.getLoopbackAddress(), port);
    }

    /** One look at the events. */
    private final class Stream implements AutoCloseable {
        private final Socket socket = connect();
        private final BufferedReader lines =
                new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        private String lastId = "";

        private Stream(String headers) throws IOException {
            var request = "GET /events HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
        }

        /** Returns the next batch. */
        private String next() throws IOException {
            while (true) {
                var line = lines.readLine();
                if (line == null) {
                    throw new IOException("the stream has ended");
                }
                if (line.startsWith("id: ")) {
                    lastId = line.substring(4);
                } else if (line.startsWith("data: ")) {
                    return line;
                }
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
