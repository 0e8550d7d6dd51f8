package dev.bellwether.kafka;

import static dev.bellwether.fixtures.Doctor.only;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.fixtures.Doctor;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each finding, on topics that are set so. */
@Timeout(240)
class KafkaDoctorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void oneBrokerIsFineButAlone() {
        var findings = find(SharedBroker.get().bootstrap(), "checkup");

        assertThat(levels(findings)).doesNotContain(Finding.Level.ERROR);
        assertThat(says(findings, Finding.Level.WARNING))
                .anyMatch(says -> says.contains("topic checkup has one replica"));
        assertThat(only(findings, "session").says()).isEqualTo("it is the lease, 6000 ms");
        assertThat(only(findings, "crash").terms())
                .containsExactly(
                        new Finding.Term("session", Duration.ofSeconds(6)),
                        new Finding.Term("retry", Duration.ofMillis(500)));
        assertThat(only(findings, "hand-over").terms())
                .containsExactly(new Finding.Term("stand-down budget", Duration.ofMillis(1_200)));
        assertThat(findings).extracting(Finding::about).contains("clock", "freeze", "rights", "journal");
    }

    @Test
    void threeReplicasOfWhichTwoAcknowledgeAreWell() {
        var findings = find(SharedCluster.get().bootstrap(), "checkup-well");

        assertThat(says(findings, Finding.Level.OK))
                .contains(
                        "topic checkup-well has 3 replicas, of which 2 acknowledge", "topic checkup-well is compacted");
        assertThat(levels(findings)).doesNotContain(Finding.Level.ERROR);
    }

    @Test
    void topicThatMayLoseWhatItAcknowledgedIsAnError() throws Exception {
        make("checkup-lax", 3, Map.of("min.insync.replicas", "1", "unclean.leader.election.enable", "true"));

        assertThat(says(find(SharedCluster.get().bootstrap(), "checkup-lax"), Finding.Level.ERROR))
                .anyMatch(says -> says.contains("min.insync.replicas=1"))
                .anyMatch(says -> says.contains("unclean.leader.election.enable=true"));
    }

    @Test
    void topicThatAsksForMoreThanItNeedsIsAWarning() throws Exception {
        make("checkup-strict", 2, Map.of("min.insync.replicas", "2"));

        assertThat(says(find(SharedCluster.get().bootstrap(), "checkup-strict"), Finding.Level.WARNING))
                .anyMatch(says -> says.contains("while any of their brokers is down nobody leads"))
                .anyMatch(says -> says.contains("is not compacted"))
                .anyMatch(says -> says.contains("timestamps of its writers"));
    }

    @Test
    void aLogOnThreeReplicasOfWhichTwoAcknowledgeIsWell() {
        var findings = find(SharedCluster.get().bootstrap(), "checkup-log&by=log&longest.lease=6s");

        assertThat(levels(findings)).containsOnly(Finding.Level.OK);
        assertThat(says(findings, Finding.Level.OK))
                .contains(
                        "topic checkup-log has 3 replicas, of which 2 acknowledge",
                        "topic checkup-log is not compacted: all who read it know the same")
                .anyMatch(says -> says.contains("nobody can be elected for 6 s (longest.lease)"));
        assertThat(only(findings, "crash").terms()).isNotEmpty();
    }

    @Test
    void aLogThatForgetsAndLosesWhatItHoldsIsAnError() throws Exception {
        make(
                "checkup-log-lax",
                3,
                Map.of(
                        "min.insync.replicas", "1",
                        "unclean.leader.election.enable", "true",
                        "retention.bytes", "1000000",
                        "max.message.bytes", "100000"));

        var findings = find(SharedCluster.get().bootstrap(), "checkup-log-lax&by=log");

        assertThat(says(findings, Finding.Level.ERROR))
                .anyMatch(says -> says.contains("min.insync.replicas=1"))
                .anyMatch(says -> says.contains("unclean.leader.election.enable=true"))
                .anyMatch(says -> says.contains("max.message.bytes=100000: a checkpoint does not fit"));
        assertThat(says(findings, Finding.Level.WARNING))
                .anyMatch(says -> says.contains("retention.bytes=1000000"))
                .anyMatch(says -> says.contains("timestamps of its writers"));
    }

    /** Brokers list a topic that is gone for a while, and one that others do not know yet. */
    @Test
    void aRosterWhoseTopicIsGoneWhenItWasListedHidesNoOther() throws Exception {
        var bootstrap = SharedCluster.get().bootstrap();
        var settings = Settings.of(Map.of("bootstrap.servers", bootstrap, "topic", "checkup-rosters"));
        var gone = RosterTopic.name(settings, "a");
        make(gone, 3, Map.of());
        make(RosterTopic.name(settings, "b"), 3, Map.of("message.timestamp.type", "CreateTime"));
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            var deletes = (Admin) Proxy.newProxyInstance(
                    Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (self, method, arguments) -> {
                        var answer = method.invoke(admin, arguments);
                        if (answer instanceof ListTopicsResult listed) {
                            assertThat(listed.names().get()).contains(gone);
                            admin.deleteTopics(List.of(gone)).all().get();
                            Eventually.eventually("it is gone", PATIENCE, () -> isGone(admin, gone));
                        }
                        return answer;
                    });
            var writer =
                    new Writer(MockProducer::new, new TopicPartition("none", 0), Duration.ofSeconds(3), error -> {});
            var rosters = new KafkaRosters(
                    settings, new AdminConnection(() -> deletes), new BrokerLimits(0, Long.MAX_VALUE), writer, "test");
            assertThat(says(rosters.findings(), Finding.Level.WARNING))
                    .singleElement()
                    .asString()
                    .contains("checkup-rosters.roster.b\" has the timestamps of its writers");
        }
    }

    private static boolean isGone(Admin admin, String topic) {
        try {
            admin.describeTopics(List.of(topic)).allTopicNames().get();
            return false;
        } catch (ExecutionException e) {
            return true;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void make(String topic, int replicas, Map<String, String> settings) throws Exception {
        try (var admin =
                Admin.create(Map.of("bootstrap.servers", SharedCluster.get().bootstrap()))) {
            admin.createTopics(List.of(
                            new NewTopic(topic, Optional.of(1), Optional.of((short) replicas)).configs(settings)))
                    .all()
                    .get();
        }
    }

    private static List<Finding> find(String bootstrap, String topic) {
        return Doctor.find("kafka://" + bootstrap + "?topic=" + topic, CandidacyConfig.ofLease(Duration.ofSeconds(6)));
    }

    private static List<Finding.Level> levels(List<Finding> findings) {
        return findings.stream().map(Finding::level).toList();
    }

    private static List<String> says(List<Finding> findings, Finding.Level level) {
        return findings.stream()
                .filter(one -> one.level() == level)
                .map(Finding::says)
                .toList();
    }
}
