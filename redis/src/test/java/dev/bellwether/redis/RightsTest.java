package dev.bellwether.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Watch;
import dev.bellwether.fixtures.Leading;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.DelayThread;
import dev.bellwether.spi.Finding;
import dev.bellwether.testkit.Eventually;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Users, passwords and what they may do. */
@Timeout(180)
class RightsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofSeconds(6));

    @SuppressWarnings("NullAway.Init")
    private static ValkeyServer server;

    @BeforeAll
    static void startServer() {
        server = ValkeyServers.start();
        user("app", "~bellwether:* &bellwether:* " + RedisDoctor.RIGHTS);
        user("looker", "~bellwether:* &bellwether:* +@read +@scripting +@connection +@pubsub +time");
        user("deaf", "~bellwether:* resetchannels " + RedisDoctor.RIGHTS);
        user("other", "~others:* &others:* " + RedisDoctor.RIGHTS);
    }

    private static void user(String name, String rights) {
        var command = Stream.concat(
                        Stream.of("ACL", "SETUSER", name, "on", ">pass-of-" + name), Arrays.stream(rights.split(" ")))
                .toArray(String[]::new);
        assertThat(server.ask(command)).isEqualTo("OK");
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private static String uri(String user) {
        return "redis://" + (user.isEmpty() ? "" : user + ":pass-of-" + user + "@") + "127.0.0.1:" + server.port();
    }

    @Test
    void theRightsThatAreNamedAreEnough() throws Exception {
        Leading.isEnough(uri("app"), CONFIG);
        try (var backend = ConnectUri.parse(uri("app")).connect()) {
            assertThat(backend.findings(CONFIG)).allMatch(finding -> finding.level() == Finding.Level.OK);
        }
    }

    @Test
    void whoMayOnlyReadLooksAndDoesNotStand() throws Exception {
        try (var elections = Elections.connect(uri("app"));
                var leader = elections.stand("looked-at", CONFIG);
                var lookers = Elections.connect(uri("looker"))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            assertThat(lookers.election("looked-at").leader().orElseThrow().token())
                    .isEqualTo(mandate.token());
            assertThatThrownBy(() -> lookers.stand("looked-at", CONFIG))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("cannot be known");
        }
    }

    @Test
    void whoMayNotListenLeadsAndMovesWhenTheLeaseIsOver() throws Exception {
        try (var elections = Elections.connect(uri("deaf"));
                var leader = elections.stand("deaf", CONFIG)) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var standby = elections.stand(
                    "deaf", CONFIG.toBuilder().candidate("second").build());
            leader.resign();
            assertThat(standby.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aWrongPasswordAndNoPasswordAndAWrongPrefixSayWhatIsMissing() {
        refused(uri("app").replace("pass-of-app", "hush-hush"), "Check user and password");
        refused(uri("nobody"), "Check user and password");
        refused(uri("other"), "ACL SETUSER other ~bellwether:* &bellwether:*");
        try (var secured = ValkeyServers.start("--requirepass", "hush-hush")) {
            refused(secured.uri(""), "It wants a password");
            refused("redis://:wrong-wrong@127.0.0.1:" + secured.port(), "Check user and password");
            assertThat(Elections.connect("redis://:hush-hush@127.0.0.1:" + secured.port()))
                    .satisfies(Elections::close);
        }
    }

    private static void refused(String uri, String says) {
        Leading.isRefused(uri, CONFIG, says, "hush-hush", "pass-of", "wrong-wrong");
    }

    @Test
    void whoMayListenAgainHearsAgain() throws Exception {
        user("listener", "~bellwether:* resetchannels " + RedisDoctor.RIGHTS);
        var lease = CandidacyConfig.ofLease(Duration.ofSeconds(60));
        try (var elections = Elections.connect(uri("app"));
                var leader = elections.stand("heard-again", lease);
                var standbys = Elections.connect(uri("listener"))) {
            assertThat(leader.await(PATIENCE.plus(lease.lease()))) // the server has just been started
                    .isPresent();
            var standby = standbys.stand("heard-again", lease);
            Eventually.eventually(
                    "it follows", PATIENCE, () -> standby.status().following().isPresent());
            Eventually.eventually(
                    "it was refused", PATIENCE, () -> server.ask("ACL", "LOG").contains("heard-again"));
            assertThat(server.ask("ACL", "SETUSER", "listener", "&bellwether:*"))
                    .isEqualTo("OK");
            // the leader does, too, so the channel alone tells nothing
            Eventually.eventually("it listens", PATIENCE, () -> listens("listener"));
            leader.resign();
            assertThat(standby.await(PATIENCE)).isPresent();
        }
    }

    @Test
    void aChannelThatIsRefusedIsAskedForOnceAtATimeHoweverManyWatchIt() {
        user("insistent", "~bellwether:* resetchannels " + RedisDoctor.RIGHTS);
        var settings = RedisSettings.of(ConnectUri.parse(uri("insistent")));
        var client = RedisClient.create();
        try (var watch = new RedisWatch(settings, client, Duration.ofSeconds(1), Duration.ofMillis(100))) {
            add(watch, "pace");
            for (var i = 0; i < 50; i++) {
                add(watch, "one").close();
            }
            add(watch, "one");
            for (var i = 0; i < 50; i++) {
                add(watch, "one").close();
            }
            Eventually.eventually("all are refused", PATIENCE, () -> refusals("one") > 50);
            var before = refusals("pace");
            Eventually.eventually("some are asked for again", PATIENCE, () -> refusals("pace") > before + 5);
            assertThat(refusals("one")).isLessThan(refusals("pace") + 60);
        } finally {
            client.shutdown();
        }
    }

    @Test
    void aWatchWhoseLoginIsRefusedSaysSoAndDoesNotLogInAgainAndAgain() throws Exception {
        user("leaver", "~bellwether:* &bellwether:* " + RedisDoctor.RIGHTS);
        var settings = RedisSettings.of(ConnectUri.parse(uri("leaver")));
        var written = new ByteArrayOutputStream();
        var before = System.err;
        System.setErr(new PrintStream(written, true, UTF_8));
        var client = RedisClient.create();
        client.setOptions(ClientOptions.builder().autoReconnect(false).build()); // as ours
        try (var watch = new RedisWatch(settings, client, Duration.ofMillis(50), Duration.ofMinutes(1))) {
            add(watch, "bellwether:left");
            Eventually.eventually("it listens", PATIENCE, () -> listens("leaver"));
            assertThat(server.ask("ACL", "LOG", "RESET")).isEqualTo("OK");
            assertThat(server.ask("ACL", "SETUSER", "leaver", "resetpass", ">other-word"))
                    .isEqualTo("OK");
            assertThat(server.ask("CLIENT", "KILL", "USER", "leaver")).isEqualTo("1");
            Eventually.eventually("it is refused", PATIENCE, () -> refusals("auth", ".*") > 0);
            var later = new CountDownLatch(1);
            DelayThread.after(Duration.ofMillis(500)).execute(later::countDown); // behind ten looks
            assertThat(later.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(refusals("auth", ".*")).isEqualTo(1);
            Eventually.eventually(
                    "it is told", PATIENCE, () -> written.toString(UTF_8).contains("may not be watched now"));
            assertThat(written.toString(UTF_8)).contains("WRONGPASS").doesNotContain("pass-of-leaver");
        } finally {
            System.setErr(before);
            client.shutdown();
        }
    }

    @Test
    void whatWasMissedAndMayNotBeReadIsReadWhenItMay() {
        var settings = RedisSettings.of(ConnectUri.parse(uri("app")));
        var client = RedisClient.create();
        var tries = new AtomicInteger();
        try (var watch = new RedisWatch(settings, client, Duration.ofMinutes(1), Duration.ofMillis(50))) {
            watch.add(
                    "bellwether:missed",
                    heard -> {},
                    () -> CompletableFuture.completedFuture(tries.incrementAndGet())
                            .thenAccept(number -> {
                                if (number == 1) {
                                    throw new AccessRefusedException("planted");
                                }
                            }));
            Eventually.eventually("it is read again", PATIENCE, () -> tries.get() > 1);
        } finally {
            client.shutdown();
        }
    }

    /** As while it loads its data, or cannot write: a connection that was made again would have all read again. */
    @Test
    void aServerThatRefusesASignHasGivenOne() {
        user("signless", "~bellwether:* &bellwether:* " + RedisDoctor.RIGHTS + " -ping");
        var settings = RedisSettings.of(ConnectUri.parse(uri("signless")));
        var client = RedisClient.create();
        try (var watch = new RedisWatch(settings, client, Duration.ofMillis(50), Duration.ofMinutes(1))) {
            add(watch, "bellwether:signless");
            Eventually.eventually("it listens", PATIENCE, () -> listens("signless"));
            var first = listening("signless");
            var before = refusals("command", "ping");
            Eventually.eventually("it was refused", PATIENCE, () -> refusals("command", "ping") >= before + 4);
            assertThat(listening("signless")).isEqualTo(first);
        } finally {
            client.shutdown();
        }
    }

    private static boolean listens(String user) {
        return !listening(user).isEmpty();
    }

    /** Returns the numbers of the connections of a user that listen. */
    private static List<String> listening(String user) {
        return server.ask("CLIENT", "LIST")
                .lines()
                .filter(one -> one.contains("user=" + user) && !one.contains(" sub=0 "))
                .map(one -> one.replaceFirst(" .*", ""))
                .toList();
    }

    private static Watch add(RedisWatch watch, String channel) {
        return watch.add(channel, heard -> {}, () -> CompletableFuture.completedStage(true));
    }

    private static int refusals(String channel) {
        return refusals("channel", channel);
    }

    private static int refusals(String reason, String object) {
        return Pattern.compile("count\n(\\d+)\nreason\n" + reason + "\ncontext\n.*\nobject\n" + object + "\n")
                .matcher(server.ask("ACL", "LOG", "128"))
                .results()
                .mapToInt(one -> Integer.parseInt(one.group(1)))
                .sum();
    }

    @Test
    void aRightThatIsTakenAwayIsToleratedForAWhile() throws Exception {
        user("taken", "~bellwether:* &bellwether:* " + RedisDoctor.RIGHTS);
        try (var elections = Elections.connect(uri("taken"));
                var leader = elections.stand("taken", CONFIG)) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            assertThat(server.ask("ACL", "SETUSER", "taken", "-eval")).isEqualTo("OK");
            Eventually.eventually(
                    "it no longer leads", PATIENCE, () -> leader.mandate().isEmpty());
            assertThat(server.ask("ACL", "SETUSER", "taken", "+eval")).isEqualTo("OK");
            assertThat(leader.await(PATIENCE).orElseThrow().token()).isGreaterThan(mandate.token());
        }
    }
}
