package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.fixtures.LogSaid;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A stock broker with an authorizer, where nobody may do anything that is not granted by name. */
class KafkaRightsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final List<String> USERS = List.of(
            "candidate",
            "observer",
            "operator",
            "stranger",
            "creator",
            "mute",
            "deaf",
            "loner",
            "plain",
            "fickle",
            "member",
            "reader",
            "onlooker");
    private static final String ELECTION = "billing";
    private static final String LOG = "decided";

    // JUnit calls start before anything else can look
    @SuppressWarnings("NullAway.Init")
    private static KafkaBrokers brokers;

    @SuppressWarnings("NullAway.Init")
    private static Admin admin;

    @BeforeAll
    static void start() throws Exception {
        var settings = new TreeMap<String, String>();
        settings.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LINK0:SASL_PLAINTEXT");
        settings.put("listener.name.link0.sasl.enabled.mechanisms", "PLAIN");
        settings.put("listener.name.link0.plain.sasl.jaas.config", accounts());
        settings.put("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
        settings.put("super.users", "User:ANONYMOUS"); // who comes in by the other listeners
        settings.put("group.min.session.timeout.ms", "6000");
        brokers = KafkaInfrastructure.warm(KafkaBrokers.start(1, 1, settings));
        admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()));
        grant(List.of(
                topic("candidate", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
                group("candidate"),
                transactions("candidate"),
                topic("observer", AclOperation.READ, AclOperation.DESCRIBE),
                topic("operator", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
                topic("mute", AclOperation.READ, AclOperation.DESCRIBE),
                group("mute"),
                topic("deaf", AclOperation.WRITE, AclOperation.DESCRIBE),
                group("deaf"),
                topic("loner", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
                topic("plain", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
                group("plain"),
                log("candidate", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
                log("observer", AclOperation.READ, AclOperation.DESCRIBE),
                log("mute", AclOperation.READ, AclOperation.DESCRIBE),
                log("deaf", AclOperation.WRITE, AclOperation.DESCRIBE)));
    }

    @AfterAll
    static void stop() {
        admin.close();
        brokers.close();
    }

    @Test
    void whoMayNotLookAtTheSettingsIsToldSo() {
        var backend = ConnectUri.parse("kafka://" + brokers.bootstrap(0)
                        + "?security.protocol=SASL_PLAINTEXT&sasl.mechanism=PLAIN&sasl.jaas.config="
                        + URLEncoder.encode(
                                        String.valueOf(as("candidate").get("sasl.jaas.config")), StandardCharsets.UTF_8)
                                .replace("+", "%20"))
                .connect();
        try {
            assertThat(backend.findings(CandidacyConfig.defaults()))
                    .filteredOn(finding -> finding.about().equals("rights"))
                    .anySatisfy(finding -> {
                        assertThat(finding.level()).isEqualTo(Finding.Level.WARNING);
                        assertThat(finding.remedy()).contains("DESCRIBE_CONFIGS");
                    });
        } finally {
            backend.close();
        }
    }

    private static String accounts() {
        return "org.apache.kafka.common.security.plain.PlainLoginModule required "
                + USERS.stream()
                        .map(user -> "user_" + user + "=\"" + user + "\"")
                        .collect(Collectors.joining(" "))
                + ";";
    }

    /** Returns when the broker goes by them, which is a moment after it has confirmed them. */
    private static void grant(List<Stream<AclBinding>> rules) throws Exception {
        var all = rules.stream().flatMap(some -> some).toList();
        admin.createAcls(all).all().get();
        Eventually.eventually(
                "the broker knows the rights",
                PATIENCE,
                () -> admin.describeAcls(AclBindingFilter.ANY)
                        .values()
                        .toCompletionStage()
                        .toCompletableFuture()
                        .join()
                        .containsAll(all));
    }

    private static Stream<AclBinding> topic(String user, AclOperation... operations) {
        return Stream.of(operations)
                .map(operation -> rule(user, ResourceType.TOPIC, "bellwether", PatternType.LITERAL, operation));
    }

    private static Stream<AclBinding> log(String user, AclOperation... operations) {
        return Stream.of(operations)
                .map(operation -> rule(user, ResourceType.TOPIC, LOG, PatternType.LITERAL, operation));
    }

    private static Stream<AclBinding> group(String user) {
        return Stream.of(rule(user, ResourceType.GROUP, "bellwether.", PatternType.PREFIXED, AclOperation.READ));
    }

    private static Stream<AclBinding> transactions(String user) {
        return Stream.of(AclOperation.WRITE, AclOperation.DESCRIBE)
                .map(operation ->
                        rule(user, ResourceType.TRANSACTIONAL_ID, "bellwether.", PatternType.PREFIXED, operation));
    }

    private static AclBinding rule(
            String user, ResourceType type, String name, PatternType pattern, AclOperation operation) {
        return new AclBinding(
                new ResourcePattern(type, name, pattern),
                new AccessControlEntry("User:" + user, "*", operation, AclPermissionType.ALLOW));
    }

    private static Map<String, Object> as(String user) {
        return as(user, user);
    }

    private static Map<String, Object> as(String user, String password) {
        return Map.of(
                "bootstrap.servers",
                brokers.bootstrap(0),
                "security.protocol",
                "SASL_PLAINTEXT",
                "sasl.mechanism",
                "PLAIN",
                "sasl.jaas.config",
                "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"" + user + "\" password=\""
                        + password + "\";");
    }

    private static CandidacyConfig config(EventLog log) {
        return CandidacyConfig.builder()
                .lease(Duration.ofSeconds(20))
                .listener(log)
                .build();
    }

    /** Stands, and returns with what error that ended. */
    private static ElectionException failure(String user) {
        var log = new EventLog();
        try (var elections = KafkaElections.using(as(user));
                var candidacy = elections.stand(ELECTION + '-' + user, config(log))) {
            return Eventually.eventually(
                    candidacy + " fails",
                    PATIENCE,
                    () -> log.last(LeadershipEvent.Failed.class)
                            .map(entry -> ((LeadershipEvent.Failed) entry.event()).error()));
        }
    }

    @Test
    void theDocumentedRightsAreEnoughToLeadObserveAndGiveOrders() throws Exception {
        var log = new EventLog();
        try (var candidates = KafkaElections.using(as("candidate"));
                var observers = KafkaElections.using(as("observer"));
                var operators = KafkaElections.using(as("operator"))) {
            var candidacy = candidates.stand(ELECTION, config(log));
            var mandate = candidacy.await(PATIENCE).orElseThrow();
            var strings = new StringSerializer();
            KafkaElections.fencedProducer(mandate, as("candidate"), strings, strings)
                    .close();
            assertThat(observers.election(ELECTION).leader().orElseThrow().candidate())
                    .isEqualTo(candidacy.candidate());
            assertThat(operators.election(ELECTION).standDown()).isTrue();
            Eventually.eventually("it stands down", PATIENCE, () -> log.last(LeadershipEvent.Revoked.class));
        }
    }

    @Test
    void whoMayNotSeeTheTopicIsToldWhatItTakes() {
        assertThatThrownBy(() -> KafkaElections.using(as("stranger")).close())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("READ, WRITE and DESCRIBE on the topic")
                .hasMessageContaining(
                        "--add --allow-principal User:NAME --operation Read --operation Write --operation Describe"
                                + " --topic bellwether");
    }

    @Test
    void whoMayNotWriteToTheTopicIsToldWhatItTakes() {
        assertThat(failure("mute"))
                .hasMessageContaining("READ, WRITE and DESCRIBE on the topic")
                .hasMessageContaining("kafka-acls.sh --bootstrap-server " + brokers.bootstrap(0));
    }

    @Test
    void whoMayNotReadTheTopicIsToldWhatItTakes() {
        assertThat(failure("deaf"))
                .hasMessageContaining("READ, WRITE and DESCRIBE on the topic")
                .hasMessageContaining("--topic bellwether");
        try (var elections = KafkaElections.using(as("deaf"))) {
            assertThatThrownBy(() -> elections.election(ELECTION).leader())
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("READ and DESCRIBE");
        }
    }

    @Test
    void whoMayNotJoinTheGroupIsToldWhatItTakes() {
        assertThat(failure("loner"))
                .hasMessageContaining("READ on the groups with the prefix")
                .hasMessageContaining("--operation Read --group bellwether. --resource-pattern-type prefixed");
    }

    @Test
    void whoMayNotWriteTransactionsIsToldWhatItTakes() throws Exception {
        try (var elections = KafkaElections.using(as("plain"))) {
            var mandate = elections
                    .stand(ELECTION + "-plain", config(new EventLog()))
                    .await(PATIENCE)
                    .orElseThrow();
            var strings = new StringSerializer();
            assertThatThrownBy(() -> KafkaElections.fencedProducer(mandate, as("plain"), strings, strings))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("WRITE and DESCRIBE on the transactional ids")
                    .hasMessageContaining("--transactional-id bellwether. --resource-pattern-type prefixed");
        }
    }

    private static Map<String, Object> byLog(Map<String, ?> properties) {
        var all = new TreeMap<String, Object>(properties);
        all.putAll(Map.of("by", "log", "topic", LOG, "longest.lease", "5s"));
        return all;
    }

    /** It takes no groups; what a fenced producer takes is the same. */
    @Test
    void byTheLogTheRightsOnItsTopicAreEnough() throws Exception {
        var config = CandidacyConfig.ofLease(Duration.ofSeconds(5));
        var properties = byLog(as("candidate"));
        properties.put("group.prefix", "bellwether.");
        try (var founders = KafkaElections.using(byLog(Map.of("bootstrap.servers", brokers.bootstrap())));
                var candidates = KafkaElections.using(properties);
                var observers = KafkaElections.using(byLog(as("observer")));
                var mute = KafkaElections.using(byLog(as("mute")));
                var deaf = KafkaElections.using(byLog(as("deaf")))) {
            assertThat(founders.stand("first", config).await(PATIENCE)).isPresent();
            var candidacy = candidates.stand(ELECTION, config);
            var mandate = candidacy.await(PATIENCE).orElseThrow();
            var strings = new StringSerializer();
            try (var producer = KafkaElections.fencedProducer(mandate, properties, strings, strings)) {
                producer.beginTransaction();
                producer.commitTransaction();
            }
            assertThat(observers.election(ELECTION).leader().orElseThrow().candidate())
                    .isEqualTo(candidacy.candidate());
            for (var lame : List.of(mute, deaf)) {
                var failing = lame.stand(ELECTION + "-lame", config);
                assertThat(Eventually.eventually("it fails", PATIENCE, failing::failure))
                        .isInstanceOf(AccessRefusedException.class)
                        .hasMessageContaining("READ, WRITE and DESCRIBE on the topic")
                        .hasMessageContaining("--topic " + LOG);
            }
        }
    }

    /** It tries to begin it, as anybody does who finds it empty, and said so twice a second. */
    @Test
    void anObserverOfALogThatNobodyHasBegunSaysSoOnce() throws Exception {
        var topic = new NewTopic("unbegun", 1, (short) 1).configs(Map.of("message.timestamp.type", "LogAppendTime"));
        admin.createTopics(List.of(topic)).all().get();
        grant(List.of(Stream.of(AclOperation.READ, AclOperation.DESCRIBE)
                .map(operation -> rule("observer", ResourceType.TOPIC, topic.name(), PatternType.LITERAL, operation))));
        var properties = byLog(as("observer"));
        properties.put("topic", topic.name());
        try (var log = new LogSaid();
                var observers = KafkaElections.using(properties)) {
            var said = "topic unbegun of the Kafka cluster";
            Eventually.eventually("it is told", PATIENCE, () -> log.text().contains(said));
            Eventually.throughout(
                    "it is told once",
                    Duration.ofSeconds(4),
                    () -> log.text().lines().filter(line -> line.contains(said)).count() == 1);
            assertThat(observers.toString()).isNotEmpty();
        }
    }

    private static RosterConfig roster(Duration accessPatience) {
        return roster(RosterMode.EXCLUSIVE, accessPatience);
    }

    private static RosterConfig roster(RosterMode mode, Duration accessPatience) {
        return RosterConfig.builder()
                .mode(mode)
                .roles(4)
                .partitions(4)
                .lease(Duration.ofSeconds(6))
                .accessPatience(accessPatience)
                .build();
    }

    /** By mistake, say. Nobody has to start anything again. */
    @Test
    void aRightOfARostersMemberThatIsWithdrawnMayComeBackWithinItsPatience() throws Exception {
        var rights = Stream.of(AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE)
                .map(operation ->
                        rule("member", ResourceType.TOPIC, "bellwether.roster.", PatternType.PREFIXED, operation));
        var group = rule("member", ResourceType.GROUP, "bellwether.", PatternType.PREFIXED, AclOperation.READ);
        grant(List.of(
                rights,
                topic("member", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
                Stream.of(group)));
        try (var elections = KafkaElections.using(as("member"))) {
            var patient = elections.roster("patient", roster(Duration.ofMinutes(5)));
            var impatient = elections.roster("impatient", roster(Duration.ofSeconds(1)));
            assertThat(patient.await(4, PATIENCE)).isTrue();
            assertThat(impatient.await(4, PATIENCE)).isTrue();
            admin.deleteAcls(List.of(group.toFilter())).all().get();
            assertThatThrownBy(impatient::awaitClose)
                    .isInstanceOf(AccessRefusedException.class)
                    .hasCauseInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("READ on the groups with the prefix");
            assertThat(impatient.failure()).isPresent();
            Eventually.eventually(
                    "leads no more", PATIENCE, () -> patient.roles().isEmpty());
            grant(List.of(Stream.of(group)));
            assertThat(patient.await(4, PATIENCE)).isTrue();
            assertThat(patient.failure()).isEmpty();
        }
    }

    /**
     * A member that reads no journal ended at once when it might not write. When it might not read, it joined the group
     * again and again, and took roles from others.
     */
    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void aRightOnItsTopicMayComeBackToARostersMemberWithinItsPatience(RosterMode mode) throws Exception {
        var name = "fickle-" + mode.name().toLowerCase(Locale.ROOT);
        grant(List.of(
                group("fickle"),
                topic("fickle", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
                Stream.of(AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE)
                        .map(operation -> ofRoster(name, "fickle", operation))));
        try (var elections = KafkaElections.using(as("fickle"))) {
            var member = elections.roster(name, roster(mode, Duration.ofMinutes(5)));
            assertThat(member.await(4, PATIENCE)).isTrue();
            var read = ofRoster(name, "fickle", AclOperation.READ);
            for (var right : List.of(ofRoster(name, "fickle", AclOperation.WRITE), read)) {
                admin.deleteAcls(List.of(right.toFilter())).all().get();
                Eventually.eventually(
                        "leads no more", PATIENCE, () -> member.roles().isEmpty());
                assertThat(member.failure()).isEmpty();
                grant(List.of(Stream.of(right)));
                assertThat(member.await(4, PATIENCE)).isTrue();
            }
            var impatient = elections.roster(
                    name,
                    roster(mode, Duration.ofSeconds(1)).toBuilder()
                            .group("impatient")
                            .build());
            assertThat(impatient.await(4, PATIENCE)).isTrue();
            admin.deleteAcls(List.of(read.toFilter())).all().get();
            assertThat(Eventually.eventually("it fails", PATIENCE, impatient::failure))
                    .isInstanceOf(AccessRefusedException.class);
        }
    }

    private static AclBinding ofRoster(String roster, String user, AclOperation operation) {
        return rule(user, ResourceType.TOPIC, "bellwether.roster." + roster, PatternType.LITERAL, operation);
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void whoMayNotReadTheTopicOfARosterIsToldWhatItTakes(RosterMode mode) throws Exception {
        var name = "unread-" + mode.name().toLowerCase(Locale.ROOT);
        grant(List.of(Stream.of(AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE)
                .map(operation -> ofRoster(name, "deaf", operation))));
        try (var elections = KafkaElections.using(as("deaf"))) {
            var member = elections.roster(name, roster(mode, Duration.ofMinutes(5)));
            assertThat(Eventually.eventually("it fails", PATIENCE, member::failure))
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("READ, WRITE and DESCRIBE on the topic")
                    .hasMessageContaining("--topic bellwether.roster." + name);
        }
    }

    @Test
    void whoMayNotBeAMemberOfARosterIsToldTheRightsOnItsTopicAndItsGroup() throws Exception {
        var rights = Stream.of(AclOperation.READ, AclOperation.DESCRIBE)
                .map(operation ->
                        rule("reader", ResourceType.TOPIC, "bellwether.roster.", PatternType.PREFIXED, operation));
        grant(List.of(rights, topic("reader", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE)));
        var ofOurOwn = new TreeMap<>(as("reader"));
        ofOurOwn.put("roster.group", "pricing-*");
        try (var founders = KafkaElections.using(Map.of("bootstrap.servers", brokers.bootstrap()));
                var readers = KafkaElections.using(ofOurOwn)) {
            assertThat(founders.roster("pricing", roster(PATIENCE)).await(4, PATIENCE))
                    .isTrue();
            assertThatThrownBy(readers.roster("pricing", roster(Duration.ofSeconds(1)))::awaitClose)
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("READ, WRITE and DESCRIBE on the topic")
                    .hasMessageContaining("--topic bellwether.roster.pricing");
            grant(List.of(Stream.of(rule(
                    "reader",
                    ResourceType.TOPIC,
                    "bellwether.roster.pricing",
                    PatternType.LITERAL,
                    AclOperation.WRITE))));
            assertThatThrownBy(readers.roster("pricing", roster(Duration.ofSeconds(1)))::awaitClose)
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("READ on the group,")
                    .hasMessageContaining("--operation Read --group pricing-main");
        }
    }

    /** It was told that no broker answers. */
    @Test
    void whoMayNotSeeTheTopicOfARosterIsToldTheRightAndDoesNotWait() throws Exception {
        var groups = rule("onlooker", ResourceType.GROUP, "bellwether.", PatternType.PREFIXED, AclOperation.DESCRIBE);
        grant(List.of(topic("onlooker", AclOperation.READ, AclOperation.DESCRIBE), Stream.of(groups)));
        try (var elections = KafkaElections.using(as("onlooker"))) {
            assertThatThrownBy(() -> elections.rosterState("unseen"))
                    .isInstanceOf(AccessRefusedException.class)
                    .hasMessageContaining("READ and DESCRIBE")
                    .hasMessageContaining("--topic bellwether.roster.unseen");
        }
    }

    @Test
    void whoMayNotCreateTheTopicIsToldTheCommandAndWhoMayCreatesIt() throws Exception {
        var properties = new TreeMap<String, Object>(as("creator"));
        properties.put("topic", "leaders");
        grant(List.of(on("leaders", AclOperation.DESCRIBE)));
        assertThatThrownBy(() -> KafkaElections.using(properties).close())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("kafka-topics.sh --bootstrap-server " + brokers.bootstrap(0))
                .hasMessageContaining("--create --topic leaders --partitions 1");
        grant(List.of(on("leaders", AclOperation.CREATE)));
        Eventually.eventually("the right has reached the broker", PATIENCE, () -> {
            try {
                KafkaElections.using(properties).close();
                return true;
            } catch (ElectionException e) {
                return false;
            }
        });
    }

    private static Stream<AclBinding> on(String topic, AclOperation operation) {
        return Stream.of(rule("creator", ResourceType.TOPIC, topic, PatternType.LITERAL, operation));
    }

    /** The rights that a candidate needs, each of which an administrator may withdraw by mistake. */
    enum Withdrawn {
        READ_TOPIC,
        WRITE_TOPIC,
        READ_GROUP
    }

    private static AclBinding right(Withdrawn right) {
        return switch (right) {
            case READ_TOPIC -> rule("fickle", ResourceType.TOPIC, "bellwether", PatternType.LITERAL, AclOperation.READ);
            case WRITE_TOPIC ->
                rule("fickle", ResourceType.TOPIC, "bellwether", PatternType.LITERAL, AclOperation.WRITE);
            case READ_GROUP ->
                rule("fickle", ResourceType.GROUP, "bellwether.", PatternType.PREFIXED, AclOperation.READ);
        };
    }

    private static void withdraw(Withdrawn right) throws Exception {
        admin.deleteAcls(List.of(right(right).toFilter())).all().get();
    }

    private static void grantAll() throws Exception {
        grant(List.of(topic("fickle", AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE), group("fickle")));
    }

    @ParameterizedTest
    @EnumSource(Withdrawn.class)
    void aRightThatGoesAndComesBackEndsTheMandateAndNotTheCandidacy(Withdrawn right) throws Exception {
        grantAll();
        var log = new EventLog();
        var config = CandidacyConfig.builder()
                .lease(Duration.ofSeconds(6))
                .listener(log)
                .build();
        try (var elections = KafkaElections.using(as("fickle"));
                var candidacy = elections.stand(ELECTION + "-fickle-" + right, config)) {
            var mandate = candidacy.await(PATIENCE).orElseThrow();
            withdraw(right);
            Eventually.eventually("the mandate runs out", PATIENCE, () -> log.last(LeadershipEvent.Fenced.class));
            assertThat(candidacy.failure()).isEmpty();
            grantAll();
            var next = Eventually.eventually(
                    "it leads again",
                    PATIENCE,
                    () -> candidacy.mandate().filter(held -> held.token() > mandate.token()));
            assertThat(next.token()).isGreaterThan(mandate.token());
            assertThat(log.last(LeadershipEvent.Failed.class)).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(Withdrawn.class)
    void aRightThatStaysAwayEndsTheCandidacyWhenThePatienceIsOver(Withdrawn right) throws Exception {
        grantAll();
        var config = CandidacyConfig.builder()
                .lease(Duration.ofSeconds(6))
                .accessPatience(Duration.ofSeconds(10))
                .build();
        try (var elections = KafkaElections.using(as("fickle"));
                var candidacy = elections.stand(ELECTION + "-away-" + right, config)) {
            assertThat(candidacy.await(PATIENCE)).isPresent();
            withdraw(right);
            assertThat(Eventually.eventually("it fails", PATIENCE, candidacy::failure))
                    .isInstanceOf(AccessRefusedException.class);
        } finally {
            grantAll();
        }
    }

    @Test
    void wrongCredentialsAreToldAtOnce() {
        assertThatThrownBy(() -> KafkaElections.using(as("candidate", "wrong")).close())
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("correct the credentials");
    }

    @Test
    void aLeaseThatStockBrokersDoNotAllowIsRefusedWithTheSettingThatWould() throws Exception {
        try (var elections = Elections.connect("kafka://" + brokers.bootstrap())) {
            assertThatThrownBy(() -> elections.stand("short", CandidacyConfig.ofLease(Duration.ofSeconds(5))))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("group.min.session.timeout.ms=5000");
            assertThat(elections
                            .stand("short", CandidacyConfig.ofLease(Duration.ofSeconds(6)))
                            .await(PATIENCE))
                    .isPresent();
        }
        // who may not ask for the limits learns it when he stands
        var log = new EventLog();
        try (var elections = KafkaElections.using(as("candidate"));
                var candidacy = elections.stand(
                        "short",
                        CandidacyConfig.builder()
                                .lease(Duration.ofSeconds(5))
                                .listener(log)
                                .build())) {
            var failed =
                    Eventually.eventually(candidacy + " fails", PATIENCE, () -> log.last(LeadershipEvent.Failed.class));
            assertThat(Optional.of(failed.event()).map(event -> ((LeadershipEvent.Failed) event).error()))
                    .get()
                    .asString()
                    .contains("group.min.session.timeout.ms");
        }
    }
}
