package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;

class KafkaElectionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private final String election = "billing-" + UUID.randomUUID();

    @Test
    void aClosedLeadersSuccessorLeadsUnderAHigherToken() throws Exception {
        var config = CandidacyConfig.ofLease(Duration.ofSeconds(20));
        try (var one = Elections.connect(SharedBroker.uri());
                var two = Elections.connect(SharedBroker.uri())) {
            var leader = one.stand(election, config);
            var mandate = leader.await(PATIENCE).orElseThrow();
            var standby = two.stand(election, config);
            Eventually.eventually(
                    "the standby follows the leader",
                    PATIENCE,
                    () -> standby.status()
                            .following()
                            .filter(leader.candidate()::equals)
                            .isPresent());
            assertThat(standby.await(Duration.ofMillis(300))).isEmpty();
            assertThat(leader.mandate()).contains(mandate);
            leader.close();
            var next = standby.await(PATIENCE).orElseThrow();
            assertThat(next.token()).isGreaterThan(mandate.token());
            assertThat(mandate.isValid()).isFalse();
        }
    }

    /** It was told that the brokers do not answer, which asks to try again. */
    @Test
    void transactionsLongerThanBrokersAllowAreRefusedWithTheSettingToChange() throws Exception {
        try (var elections = Elections.connect(SharedBroker.uri())) {
            var mandate = elections
                    .stand(election, CandidacyConfig.ofLease(Duration.ofSeconds(20)))
                    .await(PATIENCE)
                    .orElseThrow();
            var properties =
                    Map.of("bootstrap.servers", SharedBroker.get().bootstrap(), "transaction.timeout.ms", "86400000");
            var strings = new StringSerializer();
            assertThatThrownBy(() -> KafkaElections.fencedProducer(mandate, properties, strings, strings))
                    .isExactlyInstanceOf(ElectionException.class)
                    .hasMessageContaining("lower transaction.timeout.ms");
        }
    }
}
