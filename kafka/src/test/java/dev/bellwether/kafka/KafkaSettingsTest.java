package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KafkaSettingsTest {
    private static Settings with(String name, String value) {
        return Settings.of(Map.of("bootstrap.servers", "localhost:9092", name, value));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "group.id",
                "group.protocol",
                "session.timeout.ms",
                "enable.auto.commit",
                "partition.assignment.strategy",
                "acks",
                "delivery.timeout.ms",
                "transactional.id"
            })
    void whatLeadershipHangsOnCannotBeOverridden(String name) {
        assertThatThrownBy(() -> with(name, "1"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("cannot override configuration \"" + name + '"');
    }

    @Test
    void whatIsNotOursGoesToEveryClient() {
        var settings = with("sasl.mechanism", "PLAIN");
        assertThat(settings.admin("a")).containsEntry("sasl.mechanism", "PLAIN");
        assertThat(settings.reader("a")).containsEntry("sasl.mechanism", "PLAIN");
        assertThat(settings.client())
                .doesNotContainKeys("topic", "group.prefix", "roster.group", "assignors", "topic.create");
    }

    @Test
    void theLogDecidesWhereThatIsWanted() {
        var settings = Settings.of(Map.of(
                "bootstrap.servers", "localhost:9092", "by", "log", "longest.lease", "45s", "group.prefix", "x"));
        assertThat(settings.by()).isEqualTo(Settings.By.LOG);
        assertThat(settings.longestLease()).isEqualTo(Duration.ofSeconds(45));
        assertThat(settings.client()).doesNotContainKeys("by", "longest.lease");
        assertThat(with("topic", "t").by()).isEqualTo(Settings.By.GROUP);
        assertThat(Settings.fenced(
                        Map.of("bootstrap.servers", "localhost:9092", "by", "log", "longest.lease", "45s"), "billing"))
                .containsEntry("transactional.id", "bellwether.billing")
                .doesNotContainKeys("by", "longest.lease");
    }

    @Test
    void whatDoesNotGoTogetherIsRefused() {
        assertThatThrownBy(() -> with("by", "chance"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("by is \"chance\": write group")
                .hasMessageContaining("or log");
        assertThatThrownBy(() -> with("longest.lease", "45s")).hasMessageContaining("longest.lease is for by=log");
        for (var name : List.of("roster.group", "assignors")) {
            assertThatThrownBy(() ->
                            Settings.of(Map.of("bootstrap.servers", "localhost:9092", "by", "log", name, "range")))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(name + " is for groups of consumers");
        }
        for (var length : List.of("1ms", "2h")) {
            assertThatThrownBy(() -> Settings.of(
                            Map.of("bootstrap.servers", "localhost:9092", "by", "log", "longest.lease", length)))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("it must be between 30 ms and 1 h");
        }
    }

    /** Each of another client. */
    @ParameterizedTest
    @CsvSource({"fetch.min.bytes,few", "max.block.ms,-1", "security.protocol,TLS", "request.timeout.ms,soon"})
    void aWrongPropertyOfAnyClientIsRefusedAtOnce(String name, String value) {
        assertThatThrownBy(() -> with(name, value))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(name)
                .hasMessageContaining(value)
                .hasMessageContaining("localhost:9092 are wrong");
    }

    /** As with a semicolon where a question mark should be: then it is part of an address. */
    @Test
    void aSecretInTheWrongPlaceIsNotShownByWhatKafkaSays() {
        assertThatThrownBy(() -> Elections.connect("kafka://%host:1;sasl.jaas.config=s3cr3t"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("are wrong")
                .hasMessageContaining("Invalid url in bootstrap.servers")
                .hasMessageNotContaining("s3cr3t")
                .hasNoCause();
    }

    /** What only shows when a client is made. */
    @Test
    void aPropertyThatAProducerRefusesIsRefusedByItsName() {
        for (var wrong : List.of(List.of("retries", "0"), List.of("interceptor.classes", "no.such.Class"))) {
            assertThatThrownBy(() -> with(wrong.get(0), wrong.get(1)).writer("made"))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining(wrong.get(0))
                    .hasMessageContaining("localhost:9092 are wrong");
        }
    }

    /** Names may be known again, before the next client is made or after. */
    @Test
    void brokersWhoseNamesAreNotKnownWhenAProducerIsMadeAreUnavailable() {
        assertThatThrownBy(() -> Settings.of(Map.of("bootstrap.servers", "no-such-host.invalid:9092"))
                        .writer("made"))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("no-such-host.invalid:9092");
    }

    @Test
    void aRequestMayTakeAsLongAsKafkaLetsIt() {
        var settings = with("request.timeout.ms", String.valueOf(Integer.MAX_VALUE));
        settings.writer("made").close(Duration.ZERO);
        assertThat(settings.delivery()).isPositive();
    }

    /** Brokers may be set up for it; the client refused a number below zero. */
    @Test
    void aLeaseMayBeAsLongAsKafkaLetsASession() {
        var longest = Duration.ofMillis(Integer.MAX_VALUE);
        var member = new SeatAssignor.Participant() {
            @Override
            public Membership membership() {
                throw new UnsupportedOperationException();
            }

            @Override
            public void assigned(boolean owns, int generation, long highestToken, List<Candidate> candidates) {}
        };
        assertThat(with("topic", "t").member("id", "group", longest, longest.dividedBy(5), member))
                .containsEntry("session.timeout.ms", Integer.MAX_VALUE)
                .containsEntry("max.poll.interval.ms", Integer.MAX_VALUE);
    }

    /** The number of milliseconds was cut off: the session was a short one, or none that a client takes. */
    @Test
    void aLeaseThatNoBrokerCanBeToldOfIsRefusedAlsoIfTheirLimitsAreNotKnown() {
        var settings = Settings.of(Map.of("bootstrap.servers", "localhost:1"));
        var admin = new AdminConnection(() -> Admin.create(settings.admin("limits")));
        try {
            var limits = BrokerLimits.read(admin, Duration.ofMillis(1));
            assertThatThrownBy(() -> limits.check(CandidacyConfig.ofLease(Duration.ofDays(60))))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("lease is 60 d")
                    .hasMessageContaining("no session longer than")
                    .hasMessageEndingWith("make the lease shorter"); // no broker starts with a higher limit
        } finally {
            admin.close(Duration.ZERO);
        }
    }

    /** In a file of properties a blank at the end of a line is part of the value, and Kafka's clients bear it. */
    @Test
    void aTimeMayHaveBlanksAroundIt() {
        var settings = with("request.timeout.ms", " 500 ");
        settings.writer("made").close(Duration.ZERO);
        assertThat(settings.delivery()).isEqualTo(Duration.ofMillis(2_500));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", ".", "..", "x/y"})
    void aTopicThatKafkaWouldRefuseIsRefusedAtOnce(String topic) {
        assertThatThrownBy(() -> with("topic", topic))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("topic \"" + topic + '"');
    }

    @Test
    void groupsAreNamedByTopicAndElectionUnlessAPrefixIsGiven() {
        assertThat(with("topic", "leaders").group("billing")).isEqualTo("leaders.billing");
        assertThat(with("group.prefix", "x-").group("billing")).isEqualTo("x-billing");
    }

    @Test
    void aUriWithAPathOrWithoutBrokersIsRefused() {
        assertThatThrownBy(() -> Elections.connect("kafka://localhost:9092/billing"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("topic=");
        assertThatThrownBy(() -> Elections.connect("kafka:billing"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("kafka://host:9092");
    }

    /** As Spring Boot gives them, and as Kafka's clients take them. */
    @Test
    void brokersMayBeGivenAsAListAndWithAProtocolBeforeEach() {
        for (var brokers : List.of(
                List.of("127.0.0.1:1", "127.0.0.1:2"), (Object) "PLAINTEXT://127.0.0.1:1,PLAINTEXT://127.0.0.1:2")) {
            var settings = Settings.of(Map.of("bootstrap.servers", brokers));
            assertThat(settings.complaints())
                    .contains("connection to 127.0.0.1:1 refused", "connection to 127.0.0.1:2 refused");
            assertThat(settings.brokers()).doesNotContain("[");
        }
    }

    @Test
    void brokersThatDoNotAnswerAreUnavailable() {
        assertThatThrownBy(() ->
                        Elections.connect("kafka://127.0.0.1:1?default.api.timeout.ms=700&request.timeout.ms=500"))
                .isInstanceOf(UnavailableException.class)
                .hasMessageContaining("127.0.0.1:1");
    }

    @Test
    void aMissingTopicThatWeMayNotCreateIsAnErrorWithTheCommandAndLeavesNoClientRunning() {
        var connection = SharedBroker.uri() + "?topic=absent&topic.create=false";
        var before = Thread.getAllStackTraces().keySet();
        assertThatThrownBy(() -> Elections.connect(connection))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("kafka-topics.sh")
                .hasMessageContaining("--create --topic absent --partitions 1")
                .hasMessageContaining("message.timestamp.type=LogAppendTime");
        Eventually.eventually(
                "its clients have ended",
                Duration.ofSeconds(30),
                () -> Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> !before.contains(thread))
                        .noneMatch(thread -> thread.getName().contains("kafka")));
    }

    @Test
    void theTopicIsCreatedCompactedWithOnePartitionAndTheBrokersTime() throws Exception {
        var topic = "leaders-" + UUID.randomUUID();
        try (var elections = Elections.connect(SharedBroker.uri() + "?topic=" + topic);
                var admin = Admin.create(
                        Map.of("bootstrap.servers", SharedBroker.get().bootstrap()))) {
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var config = Objects.requireNonNull(
                    admin.describeConfigs(List.of(resource)).all().get().get(resource));
            assertThat(config.get("cleanup.policy").value()).isEqualTo("compact");
            assertThat(config.get("message.timestamp.type").value()).isEqualTo("LogAppendTime");
            assertThat(elections.list()).isEmpty();
            assertThatThrownBy(() -> elections.stand(
                            "billing",
                            CandidacyConfig.ofLease(Duration.ofHours(1).plusMillis(1))))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageMatching("(?s).*(min.compaction.lag.ms|group.max.session.timeout.ms).*");
        }
    }

    @Test
    void aLeaseInFractionsOfAMillisecondIsRefused() {
        try (var elections = Elections.connect(SharedBroker.uri())) {
            assertThatThrownBy(
                            () -> elections.stand("billing", CandidacyConfig.ofLease(Duration.ofNanos(1_000_000_001))))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("whole number of milliseconds");
        }
    }

    @Test
    void noTwoElectionsOfAnyTopicsShareAGroup() {
        var topics = List.of("a", "a.b", "a.b.c", "a~b".replace('~', '-'), "a.roster.x");
        var elections =
                List.of("b", "c", "b.c", "c~1", "b.c~1", "b.c~3", "x.main", "roster.x.main", "main", "~", ".", "..");
        var groups = new TreeMap<String, String>();
        for (var topic : topics) {
            for (var election : elections) {
                var group = with("topic", topic).group(election);
                assertThat(groups.put(group, topic + " and " + election))
                        .as(group)
                        .isNull();
                assertThat(group).startsWith(topic + ".");
            }
            assertThat(groups.put(with("topic", topic).rosterGroup("x", "main"), topic))
                    .isNull();
        }
        assertThat(with("roster.group", "old-*").rosterGroup("x", "main"))
                .as("a shape of the user's")
                .isEqualTo("old-main");
        assertThat(with("group.prefix", "neli-").group("b.c"))
                .as("a prefix of the user's")
                .isEqualTo("neli-b.c");
    }
}
