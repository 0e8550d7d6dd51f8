package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.RosterConfig;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Stage;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A topic that is gone while nobody holds the seat, on brokers that create none by themselves. */
@Timeout(240)
class MissingTopicTest {
    private static final Duration LEASE = Duration.ofSeconds(6);
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final KafkaBrokers BROKERS = KafkaInfrastructure.warm(
            KafkaBrokers.start(1, KafkaInfrastructure.LINKS, Map.of("auto.create.topics.enable", "false")));

    @AfterAll
    static void close() {
        BROKERS.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"?topic=missing-group", "?by=log&topic=missing-log&longest.lease=6s"})
    void itIsCreatedAgainForTheNextCandidate(String query) throws Exception {
        var topic = query.replaceAll(".*topic=([^&]*).*", "$1");
        try (var stage = new Stage(new KafkaInfrastructure(BROKERS, query), "missing-topic");
                var admin = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()))) {
            var elections = stage.client();
            var first = stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE));
            var before = first.awaitLeads();
            var kept = settingsOf(topic, admin);
            first.candidacy().close();
            admin.deleteTopics(List.of(topic)).all().get();
            Eventually.eventually("the topic is gone", PATIENCE, () -> isGone(topic, admin));
            var next = stage.stand(elections, new EventLog(), settings -> settings.lease(LEASE));
            assertThat(next.awaitLeads().token()).isGreaterThan(before.token());
            assertThat(settingsOf(topic, admin)).isEqualTo(kept);
        }
    }

    /** It said that the brokers do not answer, and nothing else. */
    @ParameterizedTest
    @ValueSource(strings = {"?topic=missing-checkup", "?by=log&topic=missing-checkup-log"})
    void theDoctorNamesOneThatIsGone(String query) throws Exception {
        var topic = query.replaceAll(".*topic=", "");
        try (var admin = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            var backend = ConnectUri.parse("kafka://" + BROKERS.bootstrap() + query + "&topic.create=false")
                    .connect();
            try {
                admin.deleteTopics(List.of(topic)).all().get();
                Eventually.eventually("the topic is gone", PATIENCE, () -> isGone(topic, admin));
                assertThat(backend.findings(CandidacyConfig.ofLease(LEASE)))
                        .filteredOn(finding -> finding.level() == Finding.Level.ERROR)
                        .singleElement()
                        .satisfies(finding -> assertThat(finding.says()).contains("there is no topic " + topic));
            } finally {
                backend.close();
            }
        }
    }

    /** Nothing is written before the leases of former leaders are over. */
    @Test
    void aLogThatIsGoneBeforeItIsSettledIsCreatedAgain() throws Exception {
        var topic = "missing-unsettled";
        var store = log(topic);
        try (var admin = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()))) {
            admin.deleteTopics(List.of(topic)).all().get();
            Eventually.eventually("it is usable", PATIENCE, () -> ask(store).isEmpty());
        } finally {
            store.close();
        }
    }

    @Test
    void soIsOneThatIsRefusedForTheRecordsOfOthersAndIsNoLongerRefused() throws Exception {
        var topic = "missing-refused";
        var store = log(topic);
        try (var said = new LogSaid();
                var admin = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()));
                var others = new KafkaProducer<>(
                        Map.<String, Object>of("bootstrap.servers", BROKERS.bootstrap()),
                        new ByteArraySerializer(),
                        new ByteArraySerializer())) {
            Eventually.eventually("it is usable", PATIENCE, () -> ask(store).isEmpty());
            var foreign =
                    new Entry(Entry.What.END, "billing", Fields.with("era", 0).build());
            others.send(new ProducerRecord<>(topic, foreign.key(), foreign.value()))
                    .get();
            Eventually.eventually(
                    "it is refused",
                    PATIENCE,
                    () -> ask(store)
                            .filter(error -> error.contains("by groups of consumers"))
                            .isPresent());
            admin.deleteTopics(List.of(topic)).all().get();
            Eventually.eventually(
                    "it is usable again", PATIENCE, () -> ask(store).isEmpty());
            assertThat(said.warnings(topic, "is read again")) // it was one each time that it was looked at again
                    .hasSizeLessThanOrEqualTo(1);
        } finally {
            store.close();
        }
    }

    /** Until leases from before the first time were over, a second one was not told, so nobody knew for how long. */
    @Test
    void eachTimeThatALogIsNewIsTold() throws Exception {
        var topic = "missing-again";
        try (var said = new LogSaid();
                var admin = Admin.create(Map.of("bootstrap.servers", BROKERS.bootstrap()))) {
            var store = log(topic);
            try {
                Eventually.eventually("it is told", PATIENCE, () -> news(said, topic) == 1);
                admin.deleteTopics(List.of(topic)).all().get();
                Eventually.eventually("it is usable", PATIENCE, () -> ask(store).isEmpty());
                assertThat(news(said, topic)).isEqualTo(2);
            } finally {
                store.close();
            }
        }
    }

    private static long news(LogSaid said, String topic) {
        return said.text()
                .lines()
                .filter(line -> line.contains("topic " + topic) && line.contains("Nobody is elected for 5 s"))
                .count();
    }

    private static LogRecordStore log(String topic) {
        return LogRecordStore.open(Settings.of(
                Map.of("bootstrap.servers", BROKERS.bootstrap(), "by", "log", "topic", topic, "longest.lease", "5s")));
    }

    /** Reads a record, as candidates do from time to time; returns what is wrong. */
    private static Optional<String> ask(LogRecordStore store) {
        try {
            store.read(RecordKey.seat("billing"), Urgency.LOOK, Duration.ofSeconds(1))
                    .toCompletableFuture()
                    .get();
            return Optional.empty();
        } catch (InterruptedException | ExecutionException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** An administrator made it once, and candidates have not the right to do so. */
    @Test
    void onceIsToldThatItMayNotBeCreatedAgainWithTheCommandAndOnceAgainWhenItIsGoneTheNextTime() throws Exception {
        var topic = "not-ours";
        var attempts = new AtomicInteger();
        try (var guarded = new Guarded(topic);
                var log = new LogSaid()) {
            var leaders = new LeaderTopic(guarded.settings(topic), counting(guarded.guest, attempts));
            missed(leaders, "it is refused three times", () -> attempts.get() >= 3);
            assertThat(log.warnings(topic)).hasSize(1);
            assertThat(log.text())
                    .contains("kafka-topics.sh --bootstrap-server " + guarded.brokers.bootstrap(0) + " --create");

            guarded.create(topic);
            leaders.replaced();
            guarded.delete(topic);
            var before = attempts.get();
            missed(leaders, "it is refused again", () -> attempts.get() >= before + 2);
            assertThat(log.warnings(topic, "created again (")).hasSize(2);
        }
    }

    @Test
    void soItIsWithTheTopicOfARoster() throws Exception {
        var topic = "bellwether.roster.not-ours";
        var attempts = new AtomicInteger();
        try (var guarded = new Guarded(topic);
                var log = new LogSaid()) {
            var members = new RosterTopic.Absence();
            var admin = counting(guarded.guest, attempts);
            var config = RosterConfig.builder().roles(4).partitions(4).build();
            var asked = new AtomicInteger();
            Runnable look = () -> {
                if (asked.get() == attempts.get()) {
                    asked.incrementAndGet();
                    RosterTopic.createAgain(guarded.settings("bellwether"), admin, topic, config, members);
                }
            };
            Eventually.eventually("it is refused three times", PATIENCE, () -> {
                look.run();
                return attempts.get() >= 3;
            });
            assertThat(log.warnings(topic)).hasSize(1);
            assertThat(log.text()).contains("--create --topic " + topic + " --partitions 4");

            guarded.create(topic);
            Eventually.eventually(
                    "it is there",
                    PATIENCE,
                    () -> RosterTopic.look(admin, topic)
                            .toCompletableFuture()
                            .join()
                            .isPresent());
            members.isOver(topic);
            guarded.delete(topic);
            var before = attempts.get();
            Eventually.eventually("it is refused again", PATIENCE, () -> {
                look.run();
                return attempts.get() >= before + 2;
            });
            assertThat(log.warnings(topic, "created again (")).hasSize(2);
        }
    }

    /** A broker on which a guest may look at a topic, and do nothing else. */
    private static final class Guarded implements AutoCloseable {
        private static final String ACCOUNT = "org.apache.kafka.common.security.plain.PlainLoginModule required ";
        private final KafkaBrokers brokers;
        private final Admin admin;
        private final Admin guest;

        Guarded(String topic) throws Exception {
            var settings = new TreeMap<String, String>();
            settings.put(
                    "listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LINK0:SASL_PLAINTEXT");
            settings.put("listener.name.link0.sasl.enabled.mechanisms", "PLAIN");
            settings.put("listener.name.link0.plain.sasl.jaas.config", ACCOUNT + "user_guest=\"guest\";");
            settings.put("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
            settings.put("super.users", "User:ANONYMOUS");
            settings.put("auto.create.topics.enable", "false");
            brokers = KafkaBrokers.start(1, 1, settings);
            admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()));
            guest = Admin.create(Map.of(
                    "bootstrap.servers",
                    brokers.bootstrap(0),
                    "security.protocol",
                    "SASL_PLAINTEXT",
                    "sasl.mechanism",
                    "PLAIN",
                    "sasl.jaas.config",
                    ACCOUNT + "username=\"guest\" password=\"guest\";"));
            admin.createAcls(List.of(new AclBinding(
                            new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
                            new AccessControlEntry("User:guest", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW))))
                    .all()
                    .get();
        }

        Settings settings(String topic) {
            return Settings.of(Map.of("bootstrap.servers", brokers.bootstrap(0), "topic", topic));
        }

        void create(String topic) throws Exception {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }

        void delete(String topic) throws Exception {
            admin.deleteTopics(List.of(topic)).all().get();
        }

        @Override
        public void close() {
            guest.close();
            admin.close();
            brokers.close();
        }
    }

    /** Has requests fail until this is so. */
    private static void missed(LeaderTopic topic, String what, BooleanSupplier until) {
        Eventually.eventually(what, PATIENCE, () -> {
            topic.missed(new UnknownTopicOrPartitionException());
            return until.getAsBoolean();
        });
    }

    /** Returns the same client, of which is counted how often the creation of a topic was answered. */
    // the asker has the same future
    @SuppressWarnings("FutureReturnValueIgnored")
    private static AdminConnection counting(Admin admin, AtomicInteger attempts) {
        var counted = (Admin) Proxy.newProxyInstance(
                Admin.class.getClassLoader(), new Class<?>[] {Admin.class}, (proxy, method, arguments) -> {
                    var answer = method.invoke(admin, arguments);
                    if (answer instanceof CreateTopicsResult creation) {
                        creation.all().whenComplete((done, error) -> attempts.incrementAndGet());
                    }
                    return answer;
                });
        return new AdminConnection(() -> counted);
    }

    private static boolean isGone(String topic, Admin admin) {
        try {
            return !admin.listTopics().names().get().contains(topic);
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Map<String, String> settingsOf(String topic, Admin admin) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        var config = Objects.requireNonNull(
                admin.describeConfigs(List.of(resource)).all().get().get(resource));
        return Map.of(
                "cleanup.policy", config.get("cleanup.policy").value(),
                "message.timestamp.type", config.get("message.timestamp.type").value());
    }
}
