package dev.bellwether.kubernetes;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/**
 * Answers as an API server does where the one that tests can start has no such rules: rights, tokens, priority. Without
 * TLS. Thread-safe.
 */
final class StubServer implements AutoCloseable {
    private static final String STREAMED = "Transfer-Encoding";

    private final ServerSocket server;
    private final List<Request> requests = new CopyOnWriteArrayList<>();

    /** What was asked. */
    record Request(String method, String uri, String authorization, String body) {
        /** Returns whether it asks whether the server is there. */
        boolean isSign() {
            return method.equals("GET") && uri.endsWith("/leases?limit=1");
        }
    }

    /** What to answer. */
    record Reply(int status, Map<String, String> headers, String body) {
        static Reply of(int status, String body) {
            return new Reply(status, Map.of(), body);
        }

        /** An empty list of Leases, at version 7. */
        static Reply list() {
            return of(
                    200,
                    "{\"kind\":\"LeaseList\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":"
                            + "{\"resourceVersion\":\"7\"},\"items\":[]}");
        }

        /** A stream in which nothing is said, and that the server does not end. */
        static Reply silence() {
            return new Reply(200, Map.of(STREAMED, "chunked"), "");
        }

        boolean isStream() {
            return headers.containsKey(STREAMED);
        }

        /** A status, as API servers tell what is wrong. */
        static Reply failure(int status, String reason, String message, String details) {
            return of(
                    status,
                    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\""
                            + message + "\",\"reason\":\"" + reason + "\",\"details\":" + details + ",\"code\":"
                            + status + "}");
        }

        static Reply absent(String name) {
            return failure(
                    404,
                    "NotFound",
                    "leases.coordination.k8s.io \\\"" + name + "\\\" not found",
                    "{\"name\":\"" + name + "\",\"group\":\"coordination.k8s.io\",\"kind\":\"leases\"}");
        }
    }

    StubServer(Function<Request, Reply> answers) {
        try {
            server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(() -> {
            while (!server.isClosed()) {
                try {
                    var socket = server.accept();
                    start(() -> answer(socket, answers));
                } catch (IOException e) {
                    return;
                }
            }
        });
    }

    private static void start(Runnable work) {
        var thread = new Thread(work, "stub");
        thread.setDaemon(true);
        thread.start();
    }

    private void answer(Socket socket, Function<Request, Reply> answers) {
        try (socket) {
            var in = socket.getInputStream();
            var first = line(in).split(" ", 3);
            var authorization = "";
            var length = 0;
            for (var line = line(in); !line.isEmpty(); line = line(in)) {
                var value = line.substring(line.indexOf(':') + 1).strip();
                if (line.toLowerCase(Locale.ROOT).startsWith("authorization:")) {
                    authorization = value;
                } else if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                    length = Integer.parseInt(value);
                }
            }
            var body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
            var request = new Request(first[0], first[1], authorization, body);
            requests.add(request);
            var reply = answers.apply(request);
            var head = new StringBuilder("HTTP/1.1 " + reply.status + " So\r\nConnection: close\r\n");
            reply.headers.forEach((name, value) -> head.append(name + ": " + value + "\r\n"));
            var bytes = reply.body.getBytes(StandardCharsets.UTF_8);
            head.append((reply.isStream() ? "" : "Content-Length: " + bytes.length + "\r\n") + "\r\n");
            socket.getOutputStream().write(head.toString().getBytes(StandardCharsets.UTF_8));
            socket.getOutputStream().write(bytes);
            while (reply.isStream() && in.read() >= 0) {
                Thread.onSpinWait(); // until the other side closes it
            }
        } catch (IOException e) {
            return; // it was given up
        }
    }

    private static String line(InputStream in) throws IOException {
        var line = new StringBuilder();
        for (var next = in.read(); next >= 0 && next != '\n'; next = in.read()) {
            if (next != '\r') {
                line.append((char) next);
            }
        }
        return line.toString();
    }

    int port() {
        return server.getLocalPort();
    }

    /** Returns how to reach it with the token in this file; the kubeconfig file that says so is written beside that. */
    String uri(String namespace, Path token) {
        try {
            var file = Files.writeString(
                    token.resolveSibling("kubeconfig-" + port()),
                    "{\"current-context\": \"stub\", \"contexts\": [{\"name\": \"stub\", \"context\": {\"cluster\": \"stub\","
                            + " \"user\": \"stub\"}}], \"clusters\": [{\"name\": \"stub\", \"cluster\": {\"server\":"
                            + " \"http://127.0.0.1:" + port() + "\"}}], \"users\": [{\"name\": \"stub\", \"user\":"
                            + " {\"tokenFile\": \"" + token.getFileName() + "\"}}]}");
            return "k8s:" + namespace + "?kubeconfig=" + file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<Request> requests() {
        return List.copyOf(requests);
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
