package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.RosterConfig;
import dev.bellwether.fixtures.Certificates;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Certificates that are renewed in their files, where clients of Kafka read them once, when they are made. */
@Timeout(400)
class RenewedCertificatesTest {
    private static final Duration LEASE = Duration.ofSeconds(6);
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    static Path folder;

    @SuppressWarnings("NullAway.Init")
    private static Certificates certificates;

    @SuppressWarnings("NullAway.Init")
    private static Path shown; // by the broker

    @SuppressWarnings("NullAway.Init")
    private static Path trusted; // by the clients

    @SuppressWarnings("NullAway.Init")
    private static KafkaBrokers brokers;

    private static int renewals;

    @BeforeAll
    static void start() throws IOException {
        certificates = new Certificates(folder);
        shown = folder.resolve("shown.p12");
        trusted = folder.resolve("trusted.p12");
        renew();
        brokers = KafkaInfrastructure.warm(KafkaBrokers.start(1, 1, secured()));
    }

    private static Map<String, String> secured() {
        var settings = new TreeMap<String, String>();
        settings.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LINK0:SSL");
        settings.put("listener.name.link0.ssl.keystore.type", "PKCS12");
        settings.put("listener.name.link0.ssl.keystore.location", shown.toString());
        settings.put("listener.name.link0.ssl.keystore.password", Certificates.PASSWORD);
        settings.put("listener.name.link0.ssl.key.password", Certificates.PASSWORD);
        return settings;
    }

    @AfterAll
    static void stop() {
        brokers.close();
    }

    /** Both sides have new ones on disk, and nobody has read them. */
    private static void renew() throws IOException {
        var name = "server-" + ++renewals;
        Files.copy(certificates.key(name), shown, StandardCopyOption.REPLACE_EXISTING);
        Files.copy(certificates.trust(name), trusted, StandardCopyOption.REPLACE_EXISTING);
    }

    private static Map<String, Object> properties(String by) {
        return properties(by, brokers);
    }

    private static Map<String, Object> properties(String by, KafkaBrokers brokers) {
        var properties = new TreeMap<String, Object>(Map.of(
                "bootstrap.servers",
                brokers.bootstrap(0),
                "by",
                by,
                "topic",
                "leaders-by-" + by,
                "security.protocol",
                "SSL",
                "ssl.truststore.type",
                "PKCS12",
                "ssl.truststore.location",
                trusted.toString(),
                "ssl.truststore.password",
                Certificates.PASSWORD));
        if (by.equals("log")) {
            properties.put("longest.lease", "6s");
        }
        return properties;
    }

    @ParameterizedTest
    @ValueSource(strings = {"group", "log"})
    void candidatesLeadAgainWhenTheBrokersShowTheNewOnes(String by) throws Exception {
        var log = new EventLog();
        var config = CandidacyConfig.builder().lease(LEASE).listener(log).build();
        try (var elections = KafkaElections.using(properties(by));
                var candidacy = elections.stand("billing", config)) {
            var before = candidacy.await(PATIENCE).orElseThrow();
            renew();
            brokers.broker(1).kill();
            brokers.broker(1).start();
            Eventually.eventually("the mandate runs out", PATIENCE, () -> log.last(LeadershipEvent.Fenced.class));
            var next = Eventually.eventually(
                    "it leads again",
                    PATIENCE,
                    () -> candidacy.mandate().filter(held -> held.token() > before.token()));
            assertThat(next.token()).isGreaterThan(before.token());
            assertThat(candidacy.failure()).isEmpty();
            Eventually.eventually("others see who leads", PATIENCE, elections.election("billing")::leader);
        }
    }

    /** The other broker answers as before, so that nobody but the one that refuses us knows of it. */
    @Test
    void soDoTheyWhenOnlyTheBrokerThatHasTheTopicShowsTheNewOne() throws Exception {
        var log = new EventLog();
        var config = CandidacyConfig.builder().lease(LEASE).listener(log).build();
        try (var two = KafkaInfrastructure.warm(KafkaBrokers.start(2, 1, secured()))) {
            makeOn(two, 1, "leaders-by-log");
            try (var elections = KafkaElections.using(properties("log", two));
                    var candidacy = elections.stand("billing", config)) {
                var before = candidacy.await(PATIENCE).orElseThrow();
                var shownByTheOther = "server-" + renewals;
                renew();
                Files.copy(
                        certificates.trust(shownByTheOther, "server-" + renewals),
                        trusted,
                        StandardCopyOption.REPLACE_EXISTING);
                two.broker(1).kill();
                two.broker(1).start();
                Eventually.eventually("the mandate runs out", PATIENCE, () -> log.last(LeadershipEvent.Fenced.class));
                Eventually.eventually(
                        "it leads again",
                        PATIENCE,
                        () -> candidacy.mandate().filter(held -> held.token() > before.token()));
                assertThat(candidacy.failure()).isEmpty();
            }
        }
    }

    private static void makeOn(KafkaBrokers brokers, int id, String topic) throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            var alone = new NewTopic(topic, Map.of(0, List.of(id)))
                    .configs(Map.of("message.timestamp.type", "LogAppendTime", "min.insync.replicas", "1"));
            admin.createTopics(List.of(alone)).all().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
    }

    @Test
    void soDoMembersOfRosters() throws Exception {
        var config = RosterConfig.builder().roles(4).partitions(4).lease(LEASE).build();
        try (var elections = KafkaElections.using(properties("group"))) {
            var roster = elections.roster("prices", config);
            assertThat(roster.await(4, PATIENCE)).isTrue();
            renew();
            brokers.broker(1).kill();
            Eventually.eventually(
                    "no role is led", PATIENCE, () -> roster.roles().isEmpty());
            brokers.broker(1).start();
            assertThat(roster.await(4, PATIENCE)).isTrue();
            assertThat(roster.failure()).isEmpty();
            Eventually.eventually( // which asks the brokers
                    "its state is seen", PATIENCE, () -> elections.rosterState("prices"));
        }
    }
}
