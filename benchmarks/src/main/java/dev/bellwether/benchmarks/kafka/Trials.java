package dev.bellwether.benchmarks.kafka;

import dev.bellwether.benchmarks.Trial;
import dev.bellwether.testkit.faults.BellwetherContestant;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.kafka.KafkaGround;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * Trials on a Kafka broker that allows short sessions: ours, and a loop in the manner of goNELI.
 * Arguments: those of {@link Trial}.
 */
final class Trials {
    private static final Duration SESSION = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private Trials() {}

    public static void main(String[] arguments) throws InterruptedException, ExecutionException {
        var trial = Trial.of(arguments, SESSION);
        try (var brokers = KafkaBrokers.start(1, PLACES, Map.of());
                var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(NeliLike.TOPIC, 1, (short) 1)))
                    .all()
                    .get();
            trial.hold(
                    "Bellwether",
                    BellwetherContestant.class,
                    new KafkaGround(brokers, PLACES, addresses -> "kafka://" + addresses, () -> brokers.broker(1)));
            trial.hold(
                    "goNELI-like",
                    NeliInAProcess.class,
                    new KafkaGround(brokers, PLACES, addresses -> addresses, () -> brokers.broker(1)));
        }
    }
}
