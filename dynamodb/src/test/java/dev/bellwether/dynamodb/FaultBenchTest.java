package dev.bellwether.dynamodb;

import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final int PLACES = 3;
    private static final String TABLE = "bench";
    /** Each seat shares the session of its process, unless told otherwise. */
    private static final String REST =
            "&create=true&poll=300ms&sharing=" + Integer.getInteger("bellwether.bench.sharing", 1);

    @Test
    void noFaultMakesTwoLeadersOnAServerThatKeepsWhatItAcknowledges() {
        try (var server = DynamoDbServer.launch();
                var ground = new Alone(server)) {
            FaultBench.run(ground, Setting.of("dynamodb", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    private static final class Alone implements BenchEnvironment {
        private final DynamoDbServer server;
        private final List<FaultProxy> links;

        Alone(DynamoDbServer server) {
            this.server = server;
            links = IntStream.range(0, PLACES)
                    .mapToObj(place -> FaultProxy.to("127.0.0.1", server.port()))
                    .toList();
        }

        @Override
        public String describe() {
            return "DynamoDB on one local server";
        }

        @Override
        public int places() {
            return PLACES;
        }

        @Override
        public String uri(int place) {
            return DynamoDbServer.uri(links.get(place).port(), TABLE, REST);
        }

        @Override
        public String operatorsUri() {
            return server.uri(TABLE, REST);
        }

        @Override
        public List<FaultProxy> links(int place) {
            return List.of(links.get(place));
        }

        @Override
        public List<Server> servers() {
            return List.of(server);
        }

        @Override
        public void close() {
            links.forEach(FaultProxy::close);
        }
    }
}
