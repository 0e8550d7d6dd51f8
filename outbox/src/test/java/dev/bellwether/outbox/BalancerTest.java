package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.Election;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Leader;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.outbox.Balancer.Move;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LinkedLeaseStore;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class BalancerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void relayGivesUpItsLastShardToOneThatLeadsTwoLess() {
        assertThat(surplus("a", led("a", "b"), led("a", "b"), led("b", "a"))).isEmpty();
        assertThat(surplus("a", led("a", "b"), led("a", "b"))).contains(new Move(1, "b"));
        assertThat(surplus("b", led("a", "b"), led("a", "b"))).isEmpty();
        assertThat(surplus("a", led("a", "b", "c"), led("a", "b", "c"), led("b", "a", "c"), led("a")))
                .as("for c; nobody else stands for the last one")
                .contains(new Move(1, "c"));
    }

    @Test
    void whoStandsAloneKeepsAll() {
        assertThat(surplus("a", led("a"), led("a"), led("a"))).isEmpty();
    }

    @Test
    void vacantSeatsAreNobodysBusiness() {
        var vacant = new Election.State(Optional.empty(), List.of(), false);
        assertThat(surplus("a", vacant, led("a", "b"), vacant)).isEmpty();
    }

    @Test
    void whoIsPassedOverGetsNothing() {
        assertThat(Balancer.surplus("a", List.of(led("a", "b"), led("a", "b")), Set.of("b")))
                .isEmpty();
        assertThat(Balancer.surplus("a", List.of(led("a", "b", "c"), led("a", "b", "c")), Set.of("b")))
                .contains(new Move(1, "c"));
    }

    /** As databases list it, for ten minutes. */
    @Test
    void aRelayThatDiedAndIsListedStillCostsNobodyAShardAndKeepsNoneFromTheLiving() throws Exception {
        var lease = Duration.ofSeconds(1);
        var config = RelayConfig.named("orders").shards(2).lease(lease).build();
        try (var store = new MemoryLeaseStore(Clock.system());
                var ours = Elections.over(LinkedLeaseStore.toShared(store), ElectionsConfig.defaults());
                var theirs = Elections.over(LinkedLeaseStore.toShared(store), ElectionsConfig.defaults())) {
            var first = stand(ours, config, "a");
            for (var one : first) {
                assertThat(one.await(PATIENCE)).isPresent();
            }
            for (var shard = 0; shard < 2; shard++) {
                var dead = new Claim(config.seat(shard), "ab", "ab-1", lease, Duration.ofHours(1), 0, Map.of());
                assertThat(store.acquire(dead).toCompletableFuture().get().granted())
                        .isFalse();
            }
            var balancer = new Balancer(ours, config, "a").start();
            Eventually.throughout(
                    "a leads both", lease.multipliedBy(5), () -> first.stream().allMatch(Candidacy::isLeader));

            var second = stand(theirs, config, "b");
            Eventually.eventually(
                    "the living share",
                    PATIENCE,
                    () -> first.stream().filter(Candidacy::isLeader).count() == 1
                            && second.stream().filter(Candidacy::isLeader).count() == 1);
            balancer.end();
        }
    }

    private static List<Candidacy> stand(Elections elections, RelayConfig config, String relay) {
        return IntStream.range(0, config.shards())
                .mapToObj(shard -> elections.stand(
                        config.seat(shard),
                        CandidacyConfig.builder()
                                .candidate(relay)
                                .lease(config.lease())
                                .build()))
                .toList();
    }

    private static Optional<Move> surplus(String relay, Election.State... states) {
        return Balancer.surplus(relay, List.of(states), Set.of());
    }

    private static Election.State led(String leader, String... others) {
        var candidates = Stream.concat(Stream.of(leader), Stream.of(others))
                .map(id -> new Candidate(id, 0, Map.of(), id.equals(leader)))
                .toList();
        return new Election.State(Optional.of(new Leader(leader, 1, Instant.EPOCH, Map.of())), candidates, false);
    }
}
