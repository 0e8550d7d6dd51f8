package dev.bellwether.cli.demo;

import dev.bellwether.cli.command.UsageException;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** A Kafka broker in a process of its own, and a link to it for each candidate. */
final class KafkaEngine implements Engine, Engine.Server {
    private static final int PLACES = 6;
    private static final String BROKER = "kafka/Kafka.class";

    private final KafkaBrokers brokers;

    private KafkaEngine(KafkaBrokers brokers) {
        this.brokers = brokers;
    }

    /** Starts it in a folder, which it deletes in the end. */
    static KafkaEngine start(Path folder) throws IOException {
        var home = new KafkaBrokers.Home(Files.createDirectory(folder.resolve("kafka")), classPath());
        return new KafkaEngine(KafkaBrokers.start(1, PLACES, Map.of(), home));
    }

    /**
     * The broker is a hundred megabytes that no other verb wants on its class path: the launcher says in which folder
     * it lies.
     */
    private static String classPath() throws IOException {
        var own = System.getProperty("java.class.path");
        var folder = System.getProperty("bellwether.broker", "");
        if (!folder.isEmpty() && Files.isDirectory(Path.of(folder))) {
            try (var jars = Files.list(Path.of(folder))) {
                return jars.map(Path::toString).sorted().collect(Collectors.joining(File.pathSeparator))
                        + File.pathSeparator
                        + own;
            }
        }
        if (KafkaEngine.class.getClassLoader().getResource(BROKER) == null) {
            throw new UsageException(
                    "the jars of the Kafka broker are not here: start the demo by ./bellwether of the repository,"
                            + " which brings them, or name a backend with --on, such as --on sqlite");
        }
        return own;
    }

    @Override
    public String describe() {
        return "a Kafka broker of its own, at " + brokers.bootstrap();
    }

    @Override
    public int places() {
        return PLACES;
    }

    @Override
    public String uri(int place) {
        return "kafka://" + brokers.bootstrap(place);
    }

    @Override
    public String shownUri() {
        return "kafka://" + brokers.bootstrap();
    }

    @Override
    public List<FaultProxy> links(int place) {
        return List.of(brokers.broker(1).link(place));
    }

    @Override
    public Optional<Server> server() {
        return Optional.of(this);
    }

    @Override
    public String name() {
        return "broker";
    }

    @Override
    public void kill() {
        brokers.broker(1).kill();
    }

    @Override
    public void start() {
        brokers.broker(1).start();
    }

    @Override
    public void close() {
        brokers.close();
    }
}
