package dev.bellwether.benchmarks.kafka;

import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.kafka.KafkaElections;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * What elections cost on Kafka, beside a loop in the manner of goNELI. Arguments: seconds of counting, elections in one
 * process, candidates of one election.
 *
 * <p>An election is a consumer group, a candidate a member of it with a consumer of its own, that is with connections
 * and threads of its own. So 10,000 elections in one process are left to a roster, which is one member for all of them
 * ({@link Rosters}).
 */
final class CostFigures {
    private static final Duration SESSION = Duration.ofSeconds(30);

    private CostFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static void measure(String[] arguments) throws InterruptedException, ExecutionException {
        var elections = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1_000;
        var candidates = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 500;
        try (var brokers = KafkaBrokers.start(1, 0, Map.of());
                var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(NeliLike.TOPIC, 1, (short) 1)))
                    .all()
                    .get();
            var costs = new Costs(
                    "Kafka on 1 broker",
                    Integer.parseInt(brokers.bootstrap().replaceAll(".*:", "")),
                    RequestCount::sent,
                    "requests/s",
                    Costs.time(arguments));
            var properties =
                    Map.of("bootstrap.servers", brokers.bootstrap(), "metric.reporters", RequestCount.class.getName());
            Costs.Make ours = lease -> new OurClient(KafkaElections.using(properties), lease);
            Costs.Make loops = lease -> new Loops(brokers.bootstrap(), lease, new ArrayList<>());
            costs.standBy("Bellwether", ours, SESSION);
            costs.standBy("goNELI-like", loops, SESSION);
            costs.many("Bellwether", ours, SESSION, elections);
            costs.many("goNELI-like", loops, SESSION, elections);
            costs.crowd("Bellwether", ours, SESSION, candidates);
            costs.crowd("goNELI-like", loops, SESSION, candidates);
        }
    }

    /** They have nothing in common but their address. */
    private record Loops(String bootstrap, Duration lease, List<NeliLike.Loop> all) implements Costs.Client {
        @Override
        public Costs.Seat stand(String election) {
            var loop = new NeliLike.Loop(bootstrap, election, lease);
            all.add(loop);
            return new Costs.Seat() {
                @Override
                public boolean leads() {
                    return loop.leads();
                }

                @Override
                public void leave() {
                    loop.close();
                }
            };
        }

        @Override
        public void close() {
            all.forEach(NeliLike.Loop::beginClose);
            all.forEach(NeliLike.Loop::close);
        }
    }
}
