package dev.bellwether.examples.spring;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.ProcessReaper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The application in a process of its own. */
final class App implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Pattern STARTED = Pattern.compile("Tomcat started on port (\\d+)");
    private static final HttpClient HTTP =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

    private final Process process;
    private final Process undertaker;
    private final List<String> said = new CopyOnWriteArrayList<>();
    /** That of the traffic, and that of the actuator. */
    private final List<Integer> ports;

    private App(Process process) {
        this.process = process;
        undertaker = ProcessReaper.watch(process.pid());
        var reader = new Thread(this::read, "app-" + process.pid());
        reader.setDaemon(true);
        reader.start();
        try {
            ports = Eventually.eventually("the application starts", PATIENCE, this::portsHeard);
        } catch (AssertionError | IllegalStateException e) {
            process.destroyForcibly();
            throw new AssertionError("it said " + said, e);
        }
    }

    static App start(String database, String... settings) {
        var command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                BillingApplication.class.getName(),
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--management.server.port=0",
                "--spring.datasource.url=" + database));
        command.addAll(List.of(settings));
        try {
            return new App(new ProcessBuilder(command).redirectErrorStream(true).start());
        } catch (IOException e) {
            throw new UncheckedIOException("no application", e);
        }
    }

    private Optional<List<Integer>> portsHeard() {
        if (!process.isAlive()) {
            throw new IllegalStateException("the application has ended");
        }
        var heard = said.stream()
                .map(STARTED::matcher)
                .filter(found -> found.find())
                .map(found -> Integer.parseInt(found.group(1)))
                .toList();
        return heard.size() == 2 ? Optional.of(heard) : Optional.empty();
    }

    /** Asks the port of the actuator for what is the actuator's, and else that of the traffic. */
    HttpResponse<String> ask(String method, String path) {
        return ask(ports.get(path.startsWith("/actuator/") ? 1 : 0), method, path);
    }

    /** Asks the port of the traffic, whatever for. */
    HttpResponse<String> askAsAnyClient(String method, String path) {
        return ask(ports.get(0), method, path);
    }

    private HttpResponse<String> ask(int port, String method, String path) {
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofSeconds(30))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build();
        try {
            return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(method + ' ' + path + ", having said " + said, e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Returns a figure of the application, as Prometheus sees it. */
    Optional<Double> metric(String name, String... labels) {
        return ask("GET", "/actuator/prometheus")
                .body()
                .lines()
                .filter(line -> line.startsWith(name + '{'))
                .filter(line -> List.of(labels).stream().allMatch(line::contains))
                .map(line -> Double.valueOf(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst();
    }

    boolean leads() {
        return metric("bellwether_leading", "election=\"billing\"").orElse(0.0) == 1;
    }

    void awaitLeading() {
        Eventually.eventually("it leads", PATIENCE, this::leads);
    }

    /** Waits until it follows somebody, as far as the infrastructure has told it. */
    void awaitStandby() {
        Eventually.eventually(
                "it stands by",
                PATIENCE,
                () -> ask("GET", "/actuator/bellwether").body().contains("\"following\":\""));
    }

    /** Waits until it says something of this kind, and returns when that was, by its own clock. */
    Instant awaitSaid(String what) {
        return Eventually.eventually(
                "it says " + what,
                PATIENCE,
                () -> said.stream()
                        .filter(line -> line.contains(what))
                        .map(line -> OffsetDateTime.parse(line.substring(0, line.indexOf(' ')))
                                .toInstant())
                        .findFirst());
    }

    /** Stops it as Kubernetes and systemd do, and waits for its end. */
    void stop() throws InterruptedException {
        ProcessReaper.signal("TERM", process.pid()); // Process.destroy would close our end of what it says
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            throw new AssertionError("it did not stop: " + said);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
        undertaker.destroy();
    }

    private void read() {
        try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                said.add(line);
            }
        } catch (IOException e) {
            said.add("broken off: " + e);
        }
    }
}
