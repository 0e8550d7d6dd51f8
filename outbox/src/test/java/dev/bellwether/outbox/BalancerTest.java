package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidate;
import dev.bellwether.Election;
import dev.bellwether.Leader;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class BalancerTest {

    @Test
    void relayGivesUpItsLastShardToOneThatLeadsTwoLess() {
        assertThat(Balancer.surplus("a", List.of(led("a", "b"), led("a", "b"), led("b", "a"))))
                .isEmpty();
        assertThat(Balancer.surplus("a", List.of(led("a", "b"), led("a", "b"))).getAsInt())
                .isEqualTo(1);
        assertThat(Balancer.surplus("b", List.of(led("a", "b"), led("a", "b")))).isEmpty();
        assertThat(Balancer.surplus("a", List.of(led("a", "b", "c"), led("a", "b", "c"), led("b", "a", "c"), led("a")))
                        .getAsInt())
                .as("for c; nobody else stands for the last one")
                .isEqualTo(1);
    }

    @Test
    void whoStandsAloneKeepsAll() {
        assertThat(Balancer.surplus("a", List.of(led("a"), led("a"), led("a")))).isEmpty();
    }

    @Test
    void vacantSeatsAreNobodysBusiness() {
        var vacant = new Election.State(Optional.empty(), List.of(), false);
        assertThat(Balancer.surplus("a", List.of(vacant, led("a", "b"), vacant)))
                .isEmpty();
    }

    private static Election.State led(String leader, String... others) {
        var candidates = Stream.concat(Stream.of(leader), Stream.of(others))
                .map(id -> new Candidate(id, 0, Map.of(), id.equals(leader)))
                .toList();
        return new Election.State(Optional.of(new Leader(leader, 1, Instant.EPOCH, Map.of())), candidates, false);
    }
}
