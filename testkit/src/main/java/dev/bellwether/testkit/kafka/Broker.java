package dev.bellwether.testkit.kafka;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One broker of a {@link KafkaBrokers}: a process that can be killed, paused, and started again with what it had on
 * disk.
 */
public final class Broker implements BenchEnvironment.Server {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final String CLUSTER = "YmVsbHdldGhlci10ZXN0cw";
    private static final String SERVING = "Kafka Server started";

    private final KafkaBrokers.Node node;
    private final String classPath;
    private final Path directory;
    private final Path config;
    private final Path output;
    private @Nullable Process process;

    Broker(KafkaBrokers.Node node, KafkaBrokers.Home home, Map<String, String> properties) {
        this.node = node;
        classPath = home.classPath();
        directory = home.folder().resolve("broker-" + node.id());
        config = directory.resolve("server.properties");
        output = directory.resolve("output");
        try {
            Files.createDirectories(directory);
            var lines = properties.entrySet().stream()
                    .map(entry -> entry.getKey() + '=' + entry.getValue())
                    .collect(Collectors.joining("\n"));
            Files.writeString(config, lines + "\nlog.dirs=" + directory.resolve("data") + '\n');
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns its id. */
    public int id() {
        return node.id();
    }

    @Override
    public String name() {
        return "broker " + id();
    }

    /** Returns where it listens. */
    public String address() {
        return "127.0.0.1:" + node.port();
    }

    /** Returns its link of this number, counted from 0. */
    public FaultProxy link(int number) {
        return node.links().get(number);
    }

    List<FaultProxy> links() {
        return node.links();
    }

    /** Returns the id of its process. */
    public synchronized long pid() {
        return running().pid();
    }

    /** Starts it again, and returns when it serves. */
    @Override
    public void start() {
        launch();
        awaitServing();
    }

    /** Stops it in order: it hands over what it leads, then ends. */
    public synchronized void stop() {
        signal("TERM"); // Process.destroy would close its input as well, and it would take us for dead
        awaitEnd();
    }

    /** Kills it, by SIGKILL. Does nothing if it does not run. */
    @Override
    public synchronized void kill() {
        if (process != null) {
            process.destroyForcibly();
            awaitEnd();
        }
    }

    /** Freezes it: connections stay, answers do not come. */
    @Override
    public synchronized void pause() {
        signal("STOP");
    }

    /** Lets it go on. */
    @Override
    public synchronized void resume() {
        signal("CONT");
    }

    synchronized void launch() {
        if (process != null) {
            throw new IllegalStateException("broker " + id() + " runs already");
        }
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        try {
            Files.deleteIfExists(output);
            var command = new ArrayList<>(List.of(java, "-Xmx384m", "-XX:+UseSerialGC"));
            command.addAll(compiler());
            command.addAll(List.of(
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
                    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info",
                    "-cp",
                    classPath,
                    BrokerMain.class.getName(),
                    config.toString(),
                    CLUSTER));
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("could not start broker " + id(), e);
        }
    }

    /** A JVM that is told to start fast rather than to run fast, as those of tests are, has brokers that do. */
    private static List<String> compiler() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("-XX:TieredStopAtLevel"))
                .toList();
    }

    void awaitServing() {
        var until = System.nanoTime() + PATIENCE.toNanos();
        while (!output().contains(SERVING)) {
            synchronized (this) {
                if (!running().isAlive()) {
                    throw new IllegalStateException("broker " + id() + " ended while starting:\n" + output());
                }
            }
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException(
                        "broker " + id() + " does not serve after " + PATIENCE + ":\n" + output());
            }
            pauseBriefly();
        }
    }

    /** Returns what it has printed since its start. */
    public String output() {
        try {
            return Files.readString(output, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Process running() {
        if (process == null) {
            throw new IllegalStateException("broker " + id() + " does not run");
        }
        return process;
    }

    private void awaitEnd() {
        try {
            if (!running().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException("broker " + id() + " did not end within " + PATIENCE);
            }
            process = null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while broker " + id() + " was to end", e);
        }
    }

    private void signal(String name) {
        try {
            var code = new ProcessBuilder("kill", "-" + name, Long.toString(pid()))
                    .start()
                    .waitFor();
            if (code != 0) {
                throw new IllegalStateException("kill -" + name + " of broker " + id() + " failed with code " + code);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void pauseBriefly() {
        try {
            TimeUnit.MILLISECONDS.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a broker was to start", e);
        }
    }
}
