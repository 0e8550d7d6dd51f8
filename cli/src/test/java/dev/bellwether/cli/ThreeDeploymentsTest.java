package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.cli.ThreeDeployments.Fault;
import dev.bellwether.cli.ThreeDeployments.Kind;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Never;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** From PostgreSQL to NATS, on both servers, while either fails at each step. */
class ThreeDeploymentsTest {
    @Test
    void nobodyLeadsBesideAnotherAndTokensRiseWhileEitherFails() {
        var faults = List.of(Fault.values());
        try (var postgres = PostgresServer.start();
                var nats = NatsServers.alone();
                var move = new ThreeDeployments(postgres, nats)) {
            move.begin(3);
            move.deploy(Kind.JOINT, faults);
            move.deploy(Kind.NEXT, faults);
            System.out.println("mandates by " + move.counts() + ", tokens " + new TreeSet<>(move.mandates.keySet())
                    + ", violations " + move.violations());
            assertThat(move.counts()).as("each kind has led").containsOnlyKeys(Kind.OLD, Kind.JOINT, Kind.NEXT);
            assertThat(move.violations()).as(Never.mark("none")).isEmpty();
        }
    }
}
