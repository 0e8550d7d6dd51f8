package dev.bellwether.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.cli.Commands;
import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code serve} as processes on PostgreSQL, and beside them the clients of the documents. */
@Timeout(300)
class ServeTest {
    private static final Path PAGE = Path.of("..", "docs", "other-languages.md");
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    // A busy machine starts a process slowly, and must not lose the seat for it.
    private static final List<String> TIMES = List.of("--lease", "5s", "--grace", "1500ms");
    private static final Pattern BEAT = Pattern.compile("([0-9.]+) a step under token ([0-9]+)");

    private final String election = "serve-" + UUID.randomUUID();
    private final List<Process> started = new ArrayList<>();

    @TempDir
    Path folder;

    /** A language that the documents have a client in. */
    enum Language {
        SH("sh") {
            @Override
            List<String> client(Path folder, String text) throws IOException {
                var step = Files.writeString(
                        folder.resolve("step.sh"),
                        "#!/bin/sh\nread -r up rest </proc/uptime; echo \"$up a step under token $1\"\n");
                Files.setPosixFilePermissions(step, PosixFilePermissions.fromString("rwxr-xr-x"));
                return List.of(
                        "env",
                        "PATH=" + Path.of(Scripts.where("curl")).getParent() + ":" + System.getenv("PATH"),
                        "sh",
                        Files.writeString(folder.resolve("client.sh"), text).toString());
            }
        },
        PYTHON("python") {
            @Override
            List<String> client(Path folder, String text) throws IOException {
                return List.of(
                        Scripts.where("python3"),
                        Files.writeString(folder.resolve("client.py"), text).toString());
            }
        },
        GO("go") {
            @Override
            List<String> client(Path folder, String text) throws IOException, InterruptedException {
                var source = Files.writeString(folder.resolve("client.go"), text);
                var binary = folder.resolve("client");
                if (!Files.exists(binary)) {
                    var builder = new ProcessBuilder(
                            Scripts.where("go"), "build", "-o", binary.toString(), source.toString());
                    builder.environment().put("CGO_ENABLED", "0");
                    builder.environment().put("GO111MODULE", "off");
                    var output = folder.resolve("go-build");
                    assertThat(builder.redirectErrorStream(true)
                                    .redirectOutput(output.toFile())
                                    .start()
                                    .waitFor())
                            .as(() -> read(output))
                            .isZero();
                }
                return List.of(binary.toString());
            }
        };

        private final String fence;

        Language(String fence) {
            this.fence = fence;
        }

        abstract List<String> client(Path folder, String text) throws IOException, InterruptedException;

        private String text() throws IOException {
            var found = Pattern.compile("```" + fence + " client\n(.*?)```", Pattern.DOTALL)
                    .matcher(Files.readString(PAGE));
            assertThat(found.find()).as("a client in " + fence).isTrue();
            return found.group(1);
        }
    }

    @AfterEach
    void leaveNothingRunning() throws InterruptedException {
        for (var process : started) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        for (var process : started) {
            process.waitFor();
        }
    }

    @ParameterizedTest
    @EnumSource(Language.class)
    void clientStopsBeforeAnotherLeadsWhenTheSideCarIsFrozen(Language language) throws Exception {
        var first = serve("ann");
        var firstBeats = client(language, first);
        awaitBeat(List.of(firstBeats), 1);
        var second = serve("bob");
        var secondBeats = client(language, second);
        awaitStandby(second);

        signal("STOP", first.process.pid());

        awaitBeat(List.of(secondBeats), 1);
        signal("CONT", first.process.pid());
        assertNoOverlap(List.of(firstBeats, secondBeats));
    }

    @ParameterizedTest
    @EnumSource(Language.class)
    void clientStopsBeforeAnotherLeadsWhenTheSideCarStandsDownOrIsKilled(Language language) throws Exception {
        var first = serve("ann");
        var firstBeats = client(language, first);
        awaitBeat(List.of(firstBeats), 1);
        var second = serve("bob");
        var secondBeats = client(language, second);
        awaitStandby(second);

        assertThat(first.post("/stand-down", first.token())).isEqualTo(204);
        awaitBeat(List.of(secondBeats), 1);
        second.process.destroyForcibly();

        var before = beats(List.of(firstBeats)).size();
        Eventually.eventually(
                "the first leads again",
                PATIENCE,
                () -> beats(List.of(firstBeats)).size() > before);
        assertNoOverlap(List.of(firstBeats, secondBeats));
    }

    @Test
    void sigtermHandsOverInOrderAndIsTheExitCode() throws Exception {
        var one = serve("ann");
        Eventually.eventually("it leads", PATIENCE, () -> one.get("/isleader") == 200);

        signal("TERM", one.process.pid());

        assertThat(one.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(one.process.exitValue()).isEqualTo(143);
        assertThat(read(one.errors)).doesNotContain("Exception");
        try (var elections = Elections.connect(uri())) {
            assertThat(elections.election(election).leader()).isEmpty();
        }
    }

    @Test
    void itEndsWithTheProcessThatItStandsFor() throws Exception {
        var process = new ProcessBuilder("sleep", "600").start();
        started.add(process);
        var one = serve("ann", "--pid", Long.toString(process.pid()));
        Eventually.eventually("it leads", PATIENCE, () -> one.get("/isleader") == 200);

        process.destroyForcibly();

        assertThat(one.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(one.process.exitValue()).isZero();
        assertThat(read(one.errors)).contains("process " + process.pid() + " has ended: handing over");
        try (var elections = Elections.connect(uri())) {
            assertThat(elections.election(election).leader()).isEmpty();
        }
    }

    @Test
    void itEndsWithAChildOfItsOwnWhoseExitCodeNobodyTakes() throws Exception {
        var file = folder.resolve("pid");
        var one = serve(
                List.of("bash", "-c", "sleep 600 & echo $! >\"$0\"; exec \"$@\" --pid $!", file.toString()), "ann");
        Eventually.eventually("it leads", PATIENCE, () -> one.get("/isleader") == 200);
        var child = Long.parseLong(Files.readString(file).strip());

        signal("KILL", child);

        assertThat(one.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(one.process.exitValue()).isZero();
        assertThat(read(one.errors)).contains("process " + child + " has ended: handing over");
        try (var elections = Elections.connect(uri())) {
            assertThat(elections.election(election).leader()).isEmpty();
        }
    }

    @Test
    void aSignalHandsOverThoughNobodyReadsWhatItSays() throws Exception {
        var one = serve(unread(), "ann");
        try (var elections = Elections.connect(uri())) {
            Eventually.eventually(
                    "it leads",
                    PATIENCE,
                    () -> elections.election(election).leader().isPresent());

            signal("TERM", one.process.pid());

            assertThat(one.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThat(one.process.exitValue()).isEqualTo(143);
            assertThat(elections.election(election).leader()).isEmpty();
        }
    }

    @Test
    void itEndsWithTheProcessThatItStandsForThoughNobodyReadsWhatItSays() throws Exception {
        var process = new ProcessBuilder("sleep", "600").start();
        started.add(process);
        var one = serve(unread(), "ann", "--pid", Long.toString(process.pid()));
        try (var elections = Elections.connect(uri())) {
            Eventually.eventually(
                    "it leads",
                    PATIENCE,
                    () -> elections.election(election).leader().isPresent());

            process.destroyForcibly();

            Eventually.eventually(
                    "it hands over",
                    PATIENCE,
                    () -> elections.election(election).leader().isEmpty());
            assertThat(one.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThat(one.process.exitValue()).isZero();
        }
    }

    /** Starts it with a standard output that is full, and that nobody reads. */
    private List<String> unread() {
        return List.of(
                "bash",
                "-c",
                "mkfifo \"$0\"; exec 3<>\"$0\"; dd if=/dev/zero of=\"$0\" oflag=nonblock bs=4096; exec \"$@\" >&3",
                folder.resolve("unread").toString());
    }

    @Test
    void requestsThatAreNeverSentToTheirEndTakeNeitherItsThreadsNorItsSeat() throws Exception {
        var one = serve("ann");
        Eventually.eventually("it leads", PATIENCE, () -> one.get("/isleader") == 200);
        var address = URI.create(one.address());
        var half = new ArrayList<Socket>();
        try {
            for (var i = 0; i < 300; i++) {
                var socket = new Socket(address.getHost(), address.getPort());
                half.add(socket);
                socket.getOutputStream().write("GET /isleader HT".getBytes(StandardCharsets.US_ASCII));
            }

            Eventually.eventually("it answers others", PATIENCE, () -> one.get("/isleader") == 200);

            assertThat(Path.of("/proc/" + one.process.pid() + "/task").toFile().list())
                    .hasSizeLessThan(250);
            for (var socket : half) {
                socket.setSoTimeout((int) PATIENCE.toMillis());
                assertThat(isOver(socket)).isTrue();
            }
        } finally {
            for (var socket : half) {
                socket.close();
            }
        }
    }

    private static boolean isOver(Socket socket) throws IOException {
        try {
            return socket.getInputStream().read() < 0;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (SocketException e) {
            return true; // reset
        }
    }

    @Test
    void oneElectionOfSeveralThatHasEndedIsToldOfAndTheOthersAreHeld() throws Exception {
        var other = election + "-other";
        var one = serve("ann", other);
        Eventually.eventually("it leads", PATIENCE, () -> one.get("/isleader?election=" + election) == 200);
        Eventually.eventually("it leads the other", PATIENCE, () -> one.get("/isleader?election=" + other) == 200);

        try (var elections = Elections.connect(uri())) {
            elections.election(other).end();
            Eventually.eventually(
                    "it tells of the end",
                    PATIENCE,
                    () -> read(one.errors).contains(other + ": ended: nobody can lead before it is reopened"));
            Eventually.eventually(
                    "it leads the first still", PATIENCE, () -> one.get("/isleader?election=" + election) == 200);

            elections.election(election).end();
            assertThat(one.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            elections.election(other).delete();
            elections.election(election).delete();
        }
        assertThat(one.process.exitValue()).isEqualTo(ExitCode.FAILED);
        assertThat(read(one.errors).lines().filter(line -> line.contains(": ended: ")))
                .hasSize(2);
    }

    @Test
    void whenItsElectionHasEndedItSaysSo() throws Exception {
        var one = serve("ann");
        Eventually.eventually("it leads", PATIENCE, () -> one.get("/isleader") == 200);

        try (var elections = Elections.connect(uri())) {
            elections.election(election).end();
            assertThat(one.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            elections.election(election).delete();
        }
        assertThat(one.process.exitValue()).isEqualTo(ExitCode.FAILED);
        assertThat(read(one.errors)).contains(election + ": ended: nobody can lead before it is reopened");
    }

    @Test
    void whatCannotBeIsRefusedBeforeItStands() throws Exception {
        var on = Map.of("BELLWETHER_ON", "memory:" + UUID.randomUUID());
        try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            var port = Integer.toString(taken.getLocalPort());
            assertRefused(Spoken.of(on, "serve", "e", "--port", port), "cannot listen on ", port, "--port");
        }
        assertRefused(Spoken.of(on, "serve", "e", "--port", "70000"), "70000 is no port");
        assertRefused(Spoken.of(on, "serve", " e"), "\" e\" begins or ends with white space");
        assertRefused(Spoken.of(on, "serve", "e", "e"), "\"e\" is named twice");
        assertRefused(Spoken.of(on, "serve"), "ELECTION");
        assertRefused(Spoken.of(on, "serve", "e", "--pid", "999999999"), "there is no process 999999999");
        assertRefused(Spoken.of(on, "serve", "e", "--listen", "no.such.host.invalid"), "no address no.such");
        for (var name : List.of("ops.example:8080", "https://ops.example", "")) {
            assertRefused(Spoken.of(on, "serve", "e", "--host", name), '"' + name + "\" is no name");
        }
        assertRefused(Spoken.of(on, "serve", "e", "--lease", "1s", "--grace", "1s"), "too short for --grace");
        var file = Files.writeString(folder.resolve("token"), "short\n");
        assertRefused(Spoken.of(on, "serve", "e", "--token-file", file.toString()), "has 5 characters");
        assertRefused(
                Spoken.of(
                        on, "serve", "e", "--token-file", folder.resolve("none").toString()),
                "cannot be read");
    }

    @Test
    void withoutAFileForTheTokenItIsPrinted() {
        var on = Map.of("BELLWETHER_ON", "memory:" + UUID.randomUUID());
        var said = Spoken.of(on, "serve", "e", "f", "--port", "0", "--for", "10ms");

        assertThat(said.code()).as(said.all()).isZero();
        assertThat(said.out())
                .matches("Standing in e, f:  http://[^ ]+:\\d+/isleader  \\(token for orders: \\S{16,}\\)\n");
    }

    private static void assertRefused(Spoken said, String... words) {
        assertThat(said.code()).as(said.all()).isEqualTo(ExitCode.USAGE);
        assertThat(said.err()).contains(words).doesNotContain("Exception");
    }

    // ---------------------------------------------------------------- what the tests are made of

    private static String uri() {
        return PostgresServer.shared().uri();
    }

    private SideCarProcess serve(String id, String... more) throws IOException {
        return serve(List.of(), id, more);
    }

    /** Starts it by another program. */
    private SideCarProcess serve(List<String> by, String id, String... more) throws IOException {
        var line = new ArrayList<>(by);
        line.addAll(Commands.interruptible());
        line.addAll(List.of("serve", election, "--port", "0", "--id", id));
        line.addAll(TIMES);
        line.addAll(List.of(more));
        var out = folder.resolve("out-" + started.size());
        var errors = folder.resolve("errors-" + started.size());
        var builder = new ProcessBuilder(line).redirectOutput(out.toFile()).redirectError(errors.toFile());
        builder.environment().put("BELLWETHER_ON", uri());
        var process = builder.start();
        started.add(process);
        return new SideCarProcess(process, out, errors);
    }

    /** Returns where it writes when it did what. */
    private Path client(Language language, SideCarProcess beside) throws Exception {
        var beats = folder.resolve("beats-" + started.size());
        var builder = new ProcessBuilder(language.client(folder, language.text()))
                .directory(folder.toFile())
                .redirectOutput(beats.toFile())
                .redirectError(folder.resolve("client-errors-" + started.size()).toFile());
        builder.environment().put("BELLWETHER_SERVE", beside.address());
        started.add(builder.start());
        return beats;
    }

    private static void awaitStandby(SideCarProcess one) {
        Eventually.eventually(
                "it stands by", PATIENCE, () -> one.body("/elections").contains("\"leader\":\"ann\""));
    }

    private void awaitBeat(Collection<Path> files, int tokens) {
        Eventually.eventually("a client works", PATIENCE, () -> beats(files).size() >= tokens);
    }

    /** Returns the first and the last step under each token, by the clock of the machine. */
    private static NavigableMap<Long, double[]> beats(Collection<Path> files) {
        var found = new TreeMap<Long, double[]>();
        for (var file : files) {
            var lines = BEAT.matcher(read(file));
            while (lines.find()) {
                var at = Double.parseDouble(lines.group(1));
                var span = found.computeIfAbsent(Long.valueOf(lines.group(2)), token -> new double[] {at, at});
                span[0] = Math.min(span[0], at);
                span[1] = Math.max(span[1], at);
            }
        }
        return found;
    }

    private void assertNoOverlap(Collection<Path> files) {
        // The clock is coarse: look when the last one has been at work for a while.
        Eventually.eventually("the last one goes on", PATIENCE, () -> {
            var last = beats(files).lastEntry().getValue();
            return last[1] - last[0] >= 0.3;
        });
        var spans = beats(files);
        assertThat(spans).hasSizeGreaterThan(1);
        var before = 0.0;
        for (var span : spans.values()) {
            assertThat(span[0])
                    .as(Never.mark("two worked at once: first step, after the last one of the predecessor"))
                    .isGreaterThanOrEqualTo(before);
            before = span[1];
        }
    }

    private static void signal(String name, long pid) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(pid))
                        .start()
                        .waitFor())
                .isZero();
    }

    private static String read(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private record SideCarProcess(Process process, Path out, Path errors) {
        private static final Pattern SAID = Pattern.compile("(http://\\S+)/isleader  \\(token for orders: (\\S+)\\)\n");

        private String said(int group) {
            return Eventually.eventually("it listens; it said " + read(errors), PATIENCE, () -> {
                var said = SAID.matcher(read(out));
                return said.find() ? Optional.of(said.group(group)) : Optional.<String>empty();
            });
        }

        private String address() {
            return said(1);
        }

        private String token() {
            return said(2);
        }

        private int get(String path) {
            return send(HttpRequest.newBuilder(URI.create(address() + path)))
                    .map(HttpResponse::statusCode)
                    .orElse(0);
        }

        private String body(String path) {
            return send(HttpRequest.newBuilder(URI.create(address() + path)))
                    .map(HttpResponse::body)
                    .orElse("");
        }

        private int post(String path, String token) {
            return send(HttpRequest.newBuilder(URI.create(address() + path))
                            .header("X-Bellwether-Token", token)
                            .POST(HttpRequest.BodyPublishers.noBody()))
                    .map(HttpResponse::statusCode)
                    .orElse(0);
        }

        private static Optional<HttpResponse<String>> send(HttpRequest.Builder request) {
            try {
                var client = HttpClient.newHttpClient();
                return Optional.of(client.send(
                        request.version(HttpClient.Version.HTTP_1_1)
                                .timeout(PATIENCE)
                                .build(),
                        HttpResponse.BodyHandlers.ofString()));
            } catch (IOException e) {
                return Optional.empty(); // not yet, or no longer
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(e);
            }
        }
    }
}
