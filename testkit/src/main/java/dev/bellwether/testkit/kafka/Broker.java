package dev.bellwether.testkit.kafka;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.servers.JvmServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One broker of a {@link KafkaBrokers}: a process that can be killed, paused, and started again with what it had on
 * disk.
 */
public final class Broker extends JvmServer {
    private static final String CLUSTER = "YmVsbHdldGhlci10ZXN0cw";
    private static final String SERVING = "Kafka Server started";

    private final KafkaBrokers.Node node;
    private final String classPath;
    private final Path directory;
    private final Path config;

    Broker(KafkaBrokers.Node node, KafkaBrokers.Home home, Map<String, String> properties) {
        super("broker " + node.id(), folder(node, home).resolve("output"));
        this.node = node;
        classPath = home.classPath();
        directory = folder(node, home);
        config = directory.resolve("server.properties");
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

    private static Path folder(KafkaBrokers.Node node, KafkaBrokers.Home home) {
        return home.folder().resolve("broker-" + node.id());
    }

    /** Returns its id. */
    public int id() {
        return node.id();
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

    @Override
    protected List<String> command() throws IOException {
        var command = new ArrayList<>(List.of(JAVA, "-Xmx384m", "-XX:+UseSerialGC"));
        command.addAll(compiler());
        command.addAll(List.of(
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
                "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info"));
        command.addAll(program(BrokerMain.class, classPath));
        command.addAll(List.of(config.toString(), CLUSTER));
        return command;
    }

    @Override
    protected boolean serves() {
        return output().contains(SERVING);
    }

    /** A JVM that is told to start fast rather than to run fast, as those of tests are, has brokers that do. */
    private static List<String> compiler() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("-XX:TieredStopAtLevel"))
                .toList();
    }
}
