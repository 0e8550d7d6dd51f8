package dev.bellwether.dynamodb;

import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.fixtures.ServersGround;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final String TABLE = "bench";
    /** Each seat shares the session of its process, unless told otherwise. */
    private static final String REST =
            "&create=true&poll=300ms&sharing=" + Integer.getInteger("bellwether.bench.sharing", 1);

    @Test
    void noFaultMakesTwoLeadersOnAServerThatKeepsWhatItAcknowledges() {
        try (var server = DynamoDbServer.launch();
                var ground = new ServersGround(
                        "DynamoDB on one local server",
                        List.of(server),
                        ports -> DynamoDbServer.uri(ports.get(0), TABLE, REST))) {
            FaultBench.run(ground, Setting.of("dynamodb", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }
}
