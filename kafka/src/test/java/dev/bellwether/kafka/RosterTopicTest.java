package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.RosterMode;
import dev.bellwether.RosterState;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What becomes of a roster whose topic is altered under it, and what is seen of it from outside. */
class RosterTopicTest {
    private static final int PARTITIONS = 8;
    private static final int ROLES = 20;
    private static final int RUSTLES = 1_000;
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private final String name = "roster-" + UUID.randomUUID();
    private final String topic = "bellwether.roster." + name;
    private final List<Elections> open = new ArrayList<>();
    private final List<RosterEvent> events = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        open.forEach(Elections::close);
    }

    private Elections connect() {
        var elections = Elections.connect(SharedBroker.uri());
        open.add(elections);
        return elections;
    }

    private Roster join(RosterConfig.Builder config) {
        return connect().roster(name, config.build());
    }

    private RosterConfig.Builder config() {
        return RosterConfig.builder()
                .roles(ROLES)
                .partitions(PARTITIONS)
                .lease(Duration.ofSeconds(3))
                .listener(events::add);
    }

    private interface Order {
        void give(Admin admin) throws Exception;
    }

    private static void administer(Order order) throws Exception {
        try (var admin =
                Admin.create(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()))) {
            order.give(admin);
        }
    }

    private static void awaitAll(Roster... members) {
        Eventually.eventually(
                "all roles are led, and everybody leads some",
                PATIENCE,
                () -> List.of(members).stream()
                                .allMatch(member -> !member.roles().isEmpty())
                        && List.of(members).stream()
                                        .mapToInt(member -> member.roles().size())
                                        .sum()
                                == ROLES);
    }

    @Test
    void aTopicThatTakesNoRecordsWithoutKeysIsRefused() throws Exception {
        var compacted = new NewTopic(topic, PARTITIONS, (short) 1).configs(Map.of("cleanup.policy", "compact,delete"));
        administer(admin -> admin.createTopics(List.of(compacted)).all().get());
        assertThatThrownBy(() -> join(config()))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining('"' + topic + "\" is compacted")
                .hasMessageContaining("cleanup.policy=delete");
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void aTopicThatGrewIsRefusedByThoseWhoLeadAndByThoseWhoCome(RosterMode mode) throws Exception {
        var member = join(config().mode(mode));
        awaitAll(member);
        administer(admin -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(PARTITIONS + 1)))
                .all()
                .get());
        Eventually.eventually("it is noticed", PATIENCE, () -> member.failure().isPresent());
        assertThat(member.failure().orElseThrow())
                .hasMessageContaining("has 9 partitions")
                .hasMessageContaining("asked for 8");
        Eventually.eventually(
                "its roles are given up", PATIENCE, () -> member.roles().isEmpty());
        Eventually.eventually(
                "it is told", PATIENCE, () -> events.stream().anyMatch(event -> event instanceof RosterEvent.Failed));
        assertThatThrownBy(() -> join(config().mode(mode)))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("has 9 partitions");
    }

    @Test
    void tokensRiseWhenTheTopicIsDeletedAndCreatedAgain() throws Exception {
        var one = join(config());
        awaitAll(one);
        var other = join(config());
        awaitAll(one, other);
        var before = Math.max(highest(one), highest(other));
        administer(admin -> admin.deleteTopics(List.of(topic)).all().get());
        Eventually.eventually(
                "somebody notices",
                PATIENCE,
                () -> one.roles().size() + other.roles().size() < ROLES || lowest(one, other) > before);
        var third = join(config()); // who has never seen the old log
        var members = List.of(one, other, third);
        var known = new HashMap<Integer, Long>();
        Eventually.eventually("all roles are led under higher tokens", PATIENCE, () -> {
            for (var member : members) {
                for (var role = 0; role < ROLES; role++) {
                    var token = member.mandate(role).map(Mandate::token).orElse(0L);
                    if (token > 0) {
                        assertThat(token)
                                .as("a token of role %s, which had one of %s", role, known.get(role))
                                .isGreaterThanOrEqualTo(known.getOrDefault(role, 1L));
                        known.put(role, token);
                    }
                }
            }
            return members.stream().mapToInt(member -> member.roles().size()).sum() == ROLES
                    && members.stream().noneMatch(member -> member.roles().isEmpty())
                    && lowest(one, other, third) > before;
        });
    }

    /** Nobody leads by what was written to it, and so nobody must be blocked by what cannot be. */
    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void aTopicThatIsDeletedIsMadeAgainInEveryModeAndClosingEndsTheThreads(RosterMode mode) throws Exception {
        var config = config().mode(mode).build();
        try (var elections = Elections.connect(SharedBroker.uri())) {
            var roster = elections.roster(name, config);
            awaitAll(roster);
            var before = topicId(SharedBroker.get());
            administer(admin -> admin.deleteTopics(List.of(topic)).all().get());
            Eventually.eventually("it is made again", PATIENCE, () -> {
                var now = topicId(SharedBroker.get());
                return now.isPresent() && !now.equals(before);
            });
            Eventually.eventually(
                    "a new mandate", PATIENCE, () -> roster.roles().size() == ROLES);
            assertThat(roster.failure()).isEmpty();
            administer(admin -> admin.deleteTopics(List.of(topic)).all().get());
        }
        Eventually.eventually(
                "no thread of it is left",
                PATIENCE,
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().contains(name)));
    }

    /** As brokers do by default. */
    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void aDeletedTopicThatABrokerMakesByItselfIsMadeWhatItWas(RosterMode mode) throws Exception {
        var brokers = CreatingBroker.BROKERS;
        var members = new ArrayList<Roster>();
        for (var i = 0; i < 2; i++) {
            var elections = Elections.connect("kafka://" + brokers.bootstrap());
            open.add(elections);
            members.add(
                    elections.roster(name, config().mode(mode).member("m" + i).build()));
        }
        Eventually.eventually("all roles are led", PATIENCE, () -> led(members).size() == ROLES);
        var before = topicId(brokers);
        try (var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            admin.deleteTopics(List.of(topic)).all().get();
            Eventually.eventually("it is made again, with all of its partitions", PATIENCE, () -> {
                var now = topicId(brokers);
                return now.isPresent() && !now.equals(before) && partitions(admin) == PARTITIONS;
            });
            var over = System.nanoTime() + longest(members).toNanos(); // for whoever leads by the former topic
            Eventually.eventually(
                    "all roles are led by the new topic",
                    PATIENCE,
                    () -> System.nanoTime() - over > 0 && led(members).size() == ROLES);
            assertThat(members).allMatch(member -> member.failure().isEmpty());
            assertThat(events).noneMatch(event -> event instanceof RosterEvent.Failed);
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            Eventually.eventually("it has the settings that it had", PATIENCE, () -> {
                try {
                    return "LogAppendTime"
                            .equals(Objects.requireNonNull(admin.describeConfigs(List.of(resource))
                                            .all()
                                            .get()
                                            .get(resource))
                                    .get("message.timestamp.type")
                                    .value());
                } catch (InterruptedException | ExecutionException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
    }

    private static Set<Integer> led(List<Roster> members) {
        return members.stream().flatMap(member -> member.roles().stream()).collect(Collectors.toSet());
    }

    /** Returns for how long a mandate holds at most that is not extended from now on. */
    private static Duration longest(List<Roster> members) {
        return members.stream()
                .flatMap(member -> member.roles().stream().flatMap(role -> member.mandate(role).stream()))
                .map(Mandate::remaining)
                .max(Comparator.naturalOrder())
                .orElse(Duration.ZERO);
    }

    private int partitions(Admin admin) {
        try {
            return Objects.requireNonNull(admin.describeTopics(List.of(topic))
                            .allTopicNames()
                            .get()
                            .get(topic))
                    .partitions()
                    .size();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            return 0;
        }
    }

    private Optional<Uuid> topicId(KafkaBrokers brokers) {
        try (var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            return Optional.ofNullable(admin.describeTopics(List.of(topic))
                            .allTopicNames()
                            .get()
                            .get(topic))
                    .map(TopicDescription::topicId);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            return Optional.empty();
        }
    }

    /** A broker with the default that tests otherwise do not have. Ends with the process. */
    private static final class CreatingBroker {
        private static final KafkaBrokers BROKERS = KafkaInfrastructure.warm(
                KafkaBrokers.start(1, 0, Map.of("auto.create.topics.enable", "true", "num.partitions", "1")));
    }

    @Test
    void tokensBeginAgainWhenNobodyIsLeftWhoKnewThem() throws Exception {
        try (var elections = Elections.connect(SharedBroker.uri())) {
            var early = elections.roster(name, config().build());
            awaitAll(early);
            early.close();
            rustle();
            var late = elections.roster(name, config().build());
            awaitAll(late);
            assertThat(lowest(late)).isGreaterThan(RUSTLES);
        }
        administer(admin -> {
            admin.deleteTopics(List.of(topic)).all().get();
            Eventually.eventually("it is gone", PATIENCE, () -> {
                try {
                    return !admin.listTopics().names().get().contains(topic);
                } catch (InterruptedException | ExecutionException e) {
                    throw new IllegalStateException(e);
                }
            });
        });
        var first = join(config());
        awaitAll(first);
        assertThat(highest(first)).isBetween(1L, RUSTLES - 1L);
    }

    /** Writes records that say nothing, so that tokens are high. */
    // the flush waits for all
    @SuppressWarnings("FutureReturnValueIgnored")
    private void rustle() {
        Map<String, Object> settings =
                Map.of("bootstrap.servers", SharedBroker.get().bootstrap());
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (var i = 0; i < RUSTLES; i++) {
                producer.send(new ProducerRecord<>(topic, 0, null, new byte[0]), (metadata, error) -> {});
            }
            producer.flush();
        }
    }

    private static long highest(Roster member) {
        return tokens(member).max().orElse(0);
    }

    private static long lowest(Roster... members) {
        return List.of(members).stream()
                .flatMapToLong(RosterTopicTest::tokens)
                .min()
                .orElse(0);
    }

    private static LongStream tokens(Roster member) {
        return member.roles().stream()
                .flatMap(role -> member.mandate(role).stream())
                .mapToLong(Mandate::token);
    }

    @Test
    void whoHasWhatIsSeenFromOutside() {
        assertThat(connect().rosterState(name)).isEmpty();
        var ann = join(config().member("ann").group("a"));
        var bob = join(config().member("bob %/?").group("a"));
        var cyd = join(config().member("cyd").group("b"));
        awaitAll(ann, bob);
        awaitAll(cyd);
        var state = connect().rosterState(name).orElseThrow();
        assertThat(state.partitions()).isEqualTo(PARTITIONS);
        assertThat(state.groups()).extracting(RosterState.Group::group).containsExactly("a", "b");
        for (var group : state.groups()) {
            assertThat(group.vacant(PARTITIONS)).isZero();
            for (var member : group.members()) {
                assertThat(member.host()).isEqualTo("127.0.0.1");
                var roster = List.of(ann, bob, cyd).stream()
                        .filter(one -> one.member().equals(member.member()))
                        .findAny()
                        .orElseThrow();
                assertThat(state.roles(member, ROLES)).isEqualTo(roster.roles());
            }
        }
    }

    private static List<String> warnings(Backend backend) {
        return backend.findings(CandidacyConfig.defaults()).stream()
                .filter(finding -> finding.level() != Finding.Level.OK)
                .map(finding -> finding.says() + "; " + finding.remedy())
                .toList();
    }

    /** What `bellwether show` prints. */
    @Test
    void theOperatorIsToldWhatThePaperAdvisesAgainst() throws Exception {
        awaitAll(join(config().group("a")));
        awaitAll(join(config().group("b")));
        try (var backend = ConnectUri.parse(SharedBroker.uri()).connect()) {
            assertThat(warnings(backend))
                    .filteredOn(warning -> warning.contains(name))
                    .singleElement()
                    .asString()
                    .contains("groups a and b both have members on 127.0.0.1");
        }
        administer(admin -> admin.createTopics(List.of(new NewTopic(topic + "-2", 1, (short) 1)
                        .configs(Map.of("message.timestamp.type", "CreateTime"))))
                .all()
                .get());
        try (var backend = ConnectUri.parse(SharedBroker.uri()).connect()) {
            // a broker knows of a topic a moment after another has made it
            var told = Eventually.eventually(
                    "a warning of the topic",
                    PATIENCE,
                    () -> Optional.of(warnings(backend).stream()
                                    .filter(warning -> warning.contains(topic + "-2"))
                                    .toList())
                            .filter(warnings -> !warnings.isEmpty()));
            assertThat(told).singleElement().asString().contains("message.timestamp.type=LogAppendTime");
        }
    }
}
