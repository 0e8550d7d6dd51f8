package dev.bellwether.cli.outbox;

import dev.bellwether.cli.command.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import picocli.CommandLine.Option;

/** Which brokers, and how to log in there: a command line is for everybody to read, so a file says that. */
final class BrokerOptions {
    private static final String SERVERS = "bootstrap.servers";

    @Option(names = "--kafka", paramLabel = "HOST:PORT", description = "The brokers.")
    private Optional<String> servers = Optional.empty();

    @Option(
            names = "--kafka-config",
            paramLabel = "FILE",
            description = "Properties of Kafka's clients, such as security.protocol and sasl.jaas.config; or a"
                    + " reaper.yaml. Where it names the brokers, --kafka may be left out.")
    private Optional<Path> file = Optional.empty();

    /** Returns the properties; empty if no brokers are asked for. */
    Optional<Map<String, Object>> properties() {
        if (servers.isEmpty() && file.isEmpty()) {
            return Optional.empty();
        }
        var all = new TreeMap<String, Object>(file.map(BrokerOptions::read).orElse(Map.of()));
        servers.ifPresent(named -> all.put(SERVERS, named));
        if (!all.containsKey(SERVERS)) {
            throw new UsageException(
                    "which brokers? Name them with --kafka HOST:PORT, or as " + SERVERS + " in " + file.orElseThrow());
        }
        return Optional.of(all);
    }

    /** Returns the properties of brokers that must be named. */
    Map<String, Object> required() {
        return properties()
                .orElseThrow(() -> new UsageException("which brokers? Name them with --kafka HOST:PORT, or as "
                        + SERVERS + " in a file with --kafka-config FILE"));
    }

    /** Returns how messages name the brokers. */
    static String names(Map<String, Object> properties) {
        return String.valueOf(properties.get(SERVERS));
    }

    private static Map<String, Object> read(Path file) {
        if (file.toString().endsWith(".yaml") || file.toString().endsWith(".yml")) {
            return ReaperFile.read(file).kafka();
        }
        var properties = new Properties();
        try (var reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        } catch (IOException | IllegalArgumentException e) {
            throw new UsageException(file + " cannot be read as properties", e);
        }
        var all = new TreeMap<String, Object>();
        properties.stringPropertyNames().forEach(name -> all.put(name, properties.getProperty(name)));
        return all;
    }
}
