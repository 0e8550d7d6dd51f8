package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.Elections;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.nats.NatsServer;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import io.nats.client.Nats;
import io.nats.client.api.KeyValueConfiguration;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The command as a process of its own on a server of each kind that is dead, silent, unknown, full, for reading only,
 * or well: what it exits with, that it ends in time, and that it says what is the matter in one line, on the right
 * stream.
 *
 * <p>How long a process takes to start is the machine's business: that it kept its time-out is told by its own words.
 */
@Timeout(300)
class ServersInTroubleTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int AT_ONCE = 4;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final String POSTGRESQL = "jdbc:postgresql://%s/app?user=ops&password=hush-hush";

    private static final String KUBERNETES = "Kubernetes";

    /** Of each kind, how to reach one at an address; of Kubernetes, by the file that says so. */
    private static final Map<String, String> KINDS = Map.of(
            "PostgreSQL",
            POSTGRESQL,
            "MariaDB",
            "jdbc:mariadb://%s/app?user=ops&password=hush-hush",
            "Kafka",
            "kafka://%s",
            "ZooKeeper",
            "zk://%s/elections",
            "NATS",
            "nats://ops:hush-hush@%s",
            "etcd",
            "etcd://ops:hush-hush@%s/elections",
            "Consul",
            "consul://%s/elections?token=hush-hush",
            KUBERNETES,
            "k8s:elections?kubeconfig=%s",
            "Redis",
            "redis://ops:hush-hush@%s",
            "DynamoDB",
            "dynamodb://us-east-1/elections?endpoint=http://%s");

    @TempDir
    Path folder;

    private final List<Called> calls = new ArrayList<>();

    /** A process, and where its words go. */
    private record Called(String what, Process process, Path out, Path err) {}

    /** What came of it. */
    private record Said(String what, int code, String out, String err) {
        void isOneLine(String... parts) {
            assertThat(err.lines().filter(line -> !line.startsWith("See bellwether")))
                    .as(toString())
                    .singleElement()
                    .asString()
                    .startsWith("bellwether: ")
                    .contains(parts)
                    .doesNotContain("Exception", "hush-hush", "definite")
                    .doesNotContainPattern("PT[0-9]");
            assertThat(out).as(toString()).isEmpty();
        }

        void isJson() {
            try {
                assertThat(JSON.readTree(out).isObject()).as(toString()).isTrue();
            } catch (JsonProcessingException e) {
                throw new AssertionError(this + " is no JSON", e);
            }
        }

        @Override
        public String toString() {
            return what + " exited with " + code + ", out: " + out + ", err: " + err;
        }
    }

    @AfterEach
    void leaveNothingRunning() throws InterruptedException {
        for (var call : calls) {
            call.process.descendants().forEach(ProcessHandle::destroyForcibly);
            call.process.destroyForcibly().waitFor();
        }
    }

    private String on(String kind, String uri, String address) {
        if (!kind.equals(KUBERNETES)) {
            return uri.formatted(address);
        }
        try {
            var file = Files.writeString(
                    folder.resolve("kubeconfig"),
                    "{current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}], users: [{name: x, user:"
                            + " {token: hush-hush}}], clusters: [{name: x, cluster: {server: 'http://" + address
                            + "'}}]}");
            return uri.formatted(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aDeadServerIsNamedAsOneThatRefusesAndExitsWith4() throws Exception {
        var address = "127.0.0.1:" + Ports.free();
        var all = new LinkedHashMap<String, String[]>();
        KINDS.forEach((kind, uri) ->
                all.put(kind, new String[] {"ls", "--json", "--timeout", "10s", "--on", on(kind, uri, address)}));
        for (var said : answers(all)) {
            assertThat(said.code).as(said.toString()).isEqualTo(ExitCode.UNAVAILABLE);
            said.isOneLine(address, "refused");
        }
    }

    @Test
    void aSilentServerIsGivenUpWhenTheTimeOutIsOver() throws Exception {
        try (var server = new SilentServer()) {
            var all = new LinkedHashMap<String, String[]>();
            KINDS.forEach((kind, uri) -> all.put(
                    kind, new String[] {"ls", "--json", "--timeout", "1s", "--on", on(kind, uri, server.address())}));
            for (var said : answers(all)) {
                assertThat(said.code).as(said.toString()).isEqualTo(ExitCode.UNAVAILABLE);
                said.isOneLine("did not answer within 1s");
                if (!said.what.equals(KUBERNETES)) { // its URI does not name the server
                    said.isOneLine(server.address(), "accepts connections and does not answer");
                }
            }
        }
    }

    @Test
    void aHostThatNobodyKnowsIsNamed() throws Exception {
        var all = new LinkedHashMap<String, String[]>();
        KINDS.forEach((kind, uri) -> all.put(
                kind, new String[] {"show", "x", "--timeout", "20s", "--on", on(kind, uri, "nosuch.invalid:1234")}));
        for (var said : answers(all)) {
            assertThat(said.code).as(said.toString()).isEqualTo(ExitCode.UNAVAILABLE);
            said.isOneLine("nosuch.invalid", "unknown host");
        }
    }

    @Test
    void everyVerbGivesASilentServerUp() throws Exception {
        try (var server = new SilentServer()) {
            var on = POSTGRESQL.formatted(server.address());
            var file = folder.resolve("leader").toString();
            var reaper = Files.writeString(
                    folder.resolve("reaper.yaml"),
                    "harvest: { dataSource: \"host=127.0.0.1 port=" + server.port()
                            + " user=ops password=hush-hush dbname=app\" }\n");
            var codes = new LinkedHashMap<String, Integer>();
            var all = new LinkedHashMap<String, String[]>();
            for (var verb : List.of(
                    "ls",
                    "show x",
                    "roles x",
                    "watch --for 1h",
                    "stand-down x --yes",
                    "end x --yes",
                    "reopen x --yes",
                    "delete x --yes",
                    "doctor",
                    "schema",
                    "console --for 1h",
                    "file " + file + " x",
                    "run --max-wait 1s x -- true")) {
                var words = new ArrayList<>(List.of(verb.split(" ", -1)));
                words.addAll(1, List.of("--timeout", "500ms", "--on", on));
                all.put(verb, words.toArray(String[]::new));
                codes.put(verb, verb.startsWith("run") ? ExitCode.RUN_NOT_WON : ExitCode.UNAVAILABLE);
            }
            for (var verb : List.of("schema", "migrate", "status", "doctor", "parked", "requeue 1", "pump --topic t")) {
                var words = new ArrayList<>(List.of("outbox"));
                words.addAll(List.of(verb.split(" ", -1)));
                words.addAll(List.of("--timeout", "500ms", "--db", on));
                all.put("outbox " + verb, words.toArray(String[]::new));
                codes.put("outbox " + verb, ExitCode.UNAVAILABLE);
            }
            all.put("reap", new String[] {"reap", "--timeout", "500ms", "-f", reaper.toString()});
            codes.put("reap", ExitCode.UNAVAILABLE);
            all.put("demo", new String[] {"demo", "--tour", "--on", on});
            codes.put("demo", ExitCode.UNAVAILABLE);
            var threads = Executors.newFixedThreadPool(AT_ONCE);
            try {
                var spoken = new LinkedHashMap<String, Future<Spoken>>();
                all.forEach((verb, words) -> spoken.put(verb, threads.submit(() -> Spoken.of(Map.of(), words))));
                for (var one : spoken.entrySet()) {
                    var verb = one.getKey();
                    var said = one.getValue().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                    assertThat(said.code()).as(verb + ": " + said.all()).isEqualTo(codes.get(verb));
                    assertThat(said.err())
                            .as(verb)
                            .contains("did not answer within")
                            .doesNotContain("Exception", "hush-hush", "\tat ");
                    assertThat(said.out()).as(verb).isEmpty();
                }
            } finally {
                threads.shutdownNow();
            }
        }
    }

    @Test
    void aPasswordThatIsWrongOrMissingIsToldAsThatAndExitsWith1() throws Exception {
        try (var stage = new OutboxStage();
                var nats = NatsServers.alone("authorization { user: ops, password: right }")) {
            stage.execute("CREATE ROLE ops LOGIN PASSWORD 'right'");
            stage.demandPasswords();
            var postgres = "jdbc:postgresql://127.0.0.1:" + stage.port() + "/postgres?user=ops";
            var all = new LinkedHashMap<String, String[]>();
            all.put("wrong", new String[] {"ls", "--on", postgres + "&password=hush-hush"});
            all.put("missing", new String[] {"ls", "--on", postgres});
            all.put("outbox", new String[] {"outbox", "status", "--db", postgres + "&password=hush-hush"});
            all.put("nats", new String[] {"ls", "--on", "nats://ops:hush-hush@127.0.0.1:" + nats.port()});
            all.put("nats, none", new String[] {"ls", "--on", "nats://127.0.0.1:" + nats.port()});
            for (var said : answers(all)) {
                assertThat(said.code).as(said.toString()).isEqualTo(ExitCode.FAILED);
                said.isOneLine("authentication failed", "://");
            }
        }
    }

    @Test
    void whatIsWrongWithAUriIsMisuseWhateverTheServerSays() throws Exception {
        var wrong = Map.of(
                "postgres://ops:hush-hush@db/app", "jdbc:postgresql://db/app",
                "gopher://x", "gopher",
                "jdbc:postgresql://db:70000/app", "70000",
                "kafka://broker:x", "\"x\"",
                "nats://host:0", "\"0\"",
                "zk://host:2181/a?tickTime=soon", "tickTime",
                "no-uri-at-all", "scheme");
        wrong.forEach((uri, hint) -> {
            for (var words : List.of(
                    new String[] {"ls", "--on", uri},
                    new String[] {"run", "x", "--on", uri, "--", "true"},
                    new String[] {"demo", "--on", uri})) {
                var spoken = Spoken.of(Map.of(), words);
                assertThat(spoken.code())
                        .as(String.join(" ", words) + ": " + spoken.all())
                        .isEqualTo(ExitCode.USAGE);
                assertThat(spoken.err()).contains(hint).doesNotContain("hush-hush");
            }
        });
        for (var words : List.of("doctor --lease 1ms", "run --lease 1ms x -- true", "file f x --lease 1ms")) {
            var spoken =
                    Spoken.of(Map.of("BELLWETHER_ON", "jdbc:sqlite:" + folder.resolve("e.db")), words.split(" ", -1));
            assertThat(spoken.code()).as(words + ": " + spoken.all()).isEqualTo(ExitCode.USAGE);
            assertThat(spoken.err()).containsPattern("\\b1 ?ms");
        }
    }

    @Test
    void aServerThatIsWellAnswersInJsonAndNothingElse() throws Exception {
        try (var stage = new OutboxStage();
                var nats = NatsServers.alone();
                var ensemble = ZooKeeperServers.start(1, 0)) {
            var all = new LinkedHashMap<String, String[]>();
            for (var on : List.of(
                    stage.db(),
                    "kafka://" + stage.bootstrap(),
                    nats.uri("bucket=well"),
                    "zk://" + ensemble.addresses() + "/well?tickTime=100ms",
                    "jdbc:h2:file:" + folder.resolve("h2"),
                    "jdbc:sqlite:" + folder.resolve("well.db"))) {
                all.put("ls " + on, new String[] {"ls", "--json", "--timeout", "30s", "--on", on});
                // a file of H2 is for one process at a time
                var its = on.startsWith("jdbc:h2") ? on + "-too" : on;
                // half a lease without an answer is told: brokers take longer on a busy machine than half of the usual
                // one
                var lease = on.startsWith("kafka") ? "60s" : "10s";
                all.put("run " + on, new String[] {
                    "run",
                    "-q",
                    "--max-wait",
                    "50s",
                    "--timeout",
                    "30s",
                    "--lease",
                    lease,
                    "--on",
                    its,
                    "billing",
                    "--",
                    "echo",
                    "{}"
                });
            }
            for (var said : answers(all)) {
                assertThat(said.code).as(said.toString()).isZero();
                assertThat(said.err).as(said.toString()).isEmpty();
                said.isJson();
            }
        }
    }

    @Test
    void aServerThatIsFullIsToldAsThat() throws Exception {
        var file = "jdbc:sqlite:" + folder.resolve("full.db");
        assertThat(Spoken.of(Map.of(), "ls", "--on", file).code()).isZero(); // makes the tables
        try (var connection = DriverManager.getConnection(file);
                var statement = connection.createStatement()) {
            for (var i = 0; i < 3; i++) { // the next row will not fit into the page
                statement.execute("INSERT INTO bellwether_election (election, metadata) VALUES ('x" + i + "', '"
                        + "y".repeat(1_100) + "')");
            }
            try (var pages = statement.executeQuery("PRAGMA page_count")) {
                pages.next();
                file += "?max_page_count=" + pages.getInt(1);
            }
        }
        var full = "x".repeat(200);
        try (var stage = new OutboxStage()) {
            stage.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0");
            var crowded = "jdbc:postgresql://127.0.0.1:" + stage.port() + "/postgres?user=crowded";
            var all = new LinkedHashMap<String, String[]>();
            all.put("crowded", new String[] {"ls", "--on", crowded});
            all.put("looking", new String[] {"ls", "--on", file});
            all.put("full", new String[] {
                "run", "--max-wait", "3s", "--metadata", "more=" + "y".repeat(1_000), "--on", file, full, "--", "true"
            });
            var said = answers(all);
            assertThat(said.get(0).code).as(said.get(0).toString()).isEqualTo(ExitCode.UNAVAILABLE);
            said.get(0).isOneLine("too many connections");
            assertThat(said.get(1).code).as(said.get(1).toString()).isZero();
            assertThat(said.get(2).code).as(said.get(2).toString()).isEqualTo(ExitCode.RUN_NOT_WON);
            assertThat(said.get(2).err).doesNotContain("\tat ");
        }
    }

    @Test
    void aStoreThatTakesNoMoreIsToldAsThat() throws Exception {
        try (var nats = NatsServers.alone();
                var ensemble = ZooKeeperServers.start(1, 0, Map.of("enforceQuota", "true"), List.of());
                var brokers = KafkaBrokers.start(1, 0, Map.of("group.max.size", "1"));
                var elections = Elections.connect("kafka://" + brokers.bootstrap());
                var member = elections.stand("billing")) {
            member.await(PATIENCE);
            makeBucketOf(500, nats);
            limitTo(2, ensemble.addresses(), "/full");
            var all = new LinkedHashMap<String, String>();
            all.put(nats.uri("bucket=full"), "maximum bytes exceeded");
            all.put("zk://" + ensemble.addresses() + "/full?tickTime=100ms", "raise the quota");
            all.put("kafka://" + brokers.bootstrap(), "group.max.size");
            for (var one : all.entrySet()) {
                var words = new String[] {
                    "run",
                    "--max-wait",
                    "20s",
                    "--metadata",
                    "more=" + "y".repeat(1_000),
                    "--on",
                    one.getKey(),
                    "billing",
                    "--",
                    "true"
                };
                var said = answers(Map.of(one.getKey(), words)).get(0);
                assertThat(said.code).as(said.toString()).isIn(ExitCode.RUN_CANDIDACY_FAILED, ExitCode.RUN_NOT_WON);
                assertThat(said.err)
                        .as(said.toString())
                        .contains(one.getValue())
                        .doesNotContain("\tat ");
            }
        }
    }

    private static void makeBucketOf(int bytes, NatsServer server) throws Exception {
        var connection = Nats.connect("nats://127.0.0.1:" + server.port());
        try {
            connection
                    .keyValueManagement()
                    .create(KeyValueConfiguration.builder()
                            .name("full")
                            .maxBucketSize(bytes)
                            .build());
        } finally {
            connection.close();
        }
    }

    /** Lets there be no more than so many nodes below this one. */
    private static void limitTo(int nodes, String addresses, String path) throws Exception {
        try (var client = CuratorFrameworkFactory.newClient(addresses, new RetryOneTime(100))) {
            client.start();
            client.create().forPath(path);
            var quota = "/zookeeper/quota" + path;
            client.create()
                    .creatingParentsIfNeeded()
                    .forPath(
                            quota + "/zookeeper_limits",
                            ("count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=" + nodes)
                                    .getBytes(StandardCharsets.UTF_8));
            client.create().forPath(quota + "/zookeeper_stats", "count=1,bytes=0".getBytes(StandardCharsets.UTF_8));
        }
    }

    @Test
    void outputThatCannotBeWrittenIsNoSuccess() throws Exception {
        var on = Commands.uri(folder);
        for (var words : List.of(
                new String[] {"ls", "--json", "--on", on},
                new String[] {"--version"},
                new String[] {"--help"},
                new String[] {"watch", "--for", "1h", "--json", "x", "--on", on})) {
            var command = Commands.java();
            command.addAll(Arrays.asList(words));
            var process = new ProcessBuilder(command)
                    .redirectOutput(new java.io.File("/dev/full"))
                    .redirectError(folder.resolve("err").toFile())
                    .start();
            calls.add(new Called(words[0], process, folder, folder));
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as(words[0])
                    .isTrue();
            assertThat(process.exitValue()).as(words[0]).isEqualTo(ExitCode.FAILED);
        }
    }

    /** Else nobody would know that an answer with a code of its own is lost. */
    @Test
    void anAnswerThatIsLostIsToldOfWhateverItsCodeIs() throws Exception {
        var command = Commands.java();
        command.addAll(List.of("show", "nobody-leads", "--json", "--on", Commands.uri(folder)));
        var err = folder.resolve("err");
        var process = new ProcessBuilder(command)
                .redirectOutput(new java.io.File("/dev/full"))
                .redirectError(err.toFile())
                .start();
        calls.add(new Called("show", process, folder, folder));
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(ExitCode.NOBODY_LEADS);
        assertThat(Files.readString(err)).contains("standard output cannot be written");
    }

    /** Runs them, some at a time, and returns what came of each, in their order. */
    private List<Said> answers(Map<String, String[]> all) throws IOException, InterruptedException {
        var said = new ArrayList<Said>();
        var waiting = new ArrayList<Called>();
        for (var one : all.entrySet()) {
            if (waiting.size() == AT_ONCE) {
                said.add(ended(waiting.remove(0)));
            }
            waiting.add(call(one.getKey(), one.getValue()));
        }
        for (var call : waiting) {
            said.add(ended(call));
        }
        return said;
    }

    private Called call(String what, String... words) throws IOException {
        var command = Commands.java();
        command.addAll(Arrays.asList(words));
        var out = Files.createTempFile(folder, "out", "");
        var err = Files.createTempFile(folder, "err", "");
        var process = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        var call = new Called(what, process, out, err);
        calls.add(call);
        return call;
    }

    private static Said ended(Called call) throws IOException, InterruptedException {
        assertThat(call.process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as(call.what + " ends")
                .isTrue();
        return new Said(call.what, call.process.exitValue(), Files.readString(call.out), Files.readString(call.err));
    }
}
