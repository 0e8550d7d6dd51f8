package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.fixtures.DynamoDbGateway;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import dev.bellwether.zookeeper.ZooKeeperConfig;
import dev.bellwether.zookeeper.ZooKeeperElections;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.retry.RetryOneTime;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Looking takes the right to read and no other, on a server of each kind; who wants more is told which right that
 * takes.
 */
@Timeout(300)
class OnlookersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void postgres() throws Exception {
        try (var stage = new OutboxStage();
                var elections = Elections.connect(stage.db());
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
            stage.execute("CREATE ROLE looker LOGIN");
            stage.execute("GRANT SELECT ON bellwether_election, bellwether_election_candidate TO looker");
            looks(stage.db().replace("user=postgres", "user=looker"), leader.candidate(), "GRANT ");
        }
    }

    @Test
    void nats() throws Exception {
        var looker = """
                { user: looker, password: looker, permissions: { subscribe: { allow: ["_INBOX.>"] }, publish: { allow: [
                  "$JS.API.STREAM.INFO.KV_elections", "$JS.API.STREAM.MSG.GET.KV_elections",
                  "$JS.API.CONSUMER.CREATE.KV_elections.>" ] } } }""";
        try (var server =
                        NatsServers.alone("authorization { users: [ { user: app, password: app }, " + looker + " ] }");
                var elections = Elections.connect("nats://app:app@127.0.0.1:" + server.port() + "?bucket=elections");
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
            looks(
                    "nats://looker:looker@127.0.0.1:" + server.port() + "?bucket=elections",
                    leader.candidate(),
                    "may not publish to $KV.elections.");
        }
    }

    @Test
    void etcd() throws Exception {
        try (var servers = EtcdServers.start(1, "--bcrypt-cost=4")) {
            var member = servers.member(0);
            for (var user : List.of("root", "app", "looker")) {
                member.ask("auth/user/add", "{\"name\":\"" + user + "\",\"password\":\"" + user + "\"}");
                member.ask("auth/role/add", "{\"name\":\"" + user + "\"}");
                member.ask("auth/user/grant", "{\"user\":\"" + user + "\",\"role\":\"" + user + "\"}");
                var kind = user.equals("looker") ? "READ" : "READWRITE";
                var perm = "{\"permType\":\"" + kind + "\",\"key\":\"L2Uv\",\"range_end\":\"L2Uw\"}";
                member.ask("auth/role/grant", "{\"name\":\"" + user + "\",\"perm\":" + perm + "}");
            }
            member.ask("auth/enable", "{}");
            try (var elections = Elections.connect("etcd://app:app@" + servers.hosts() + "/e");
                    var leader = elections.stand("billing")) {
                assertThat(leader.await(PATIENCE)).isPresent();
                looks(
                        "etcd://looker:looker@" + servers.hosts() + "/e",
                        leader.candidate(),
                        "etcdctl role grant-permission ROLE readwrite /e/ --prefix");
            }
        }
    }

    @Test
    void consul() throws Exception {
        var master = "11111111-1111-1111-1111-111111111111";
        var looker = "22222222-2222-2222-2222-222222222222";
        try (var servers = ConsulServers.start(
                1, "-hcl=acl { enabled = true default_policy = \"deny\" tokens { master = \"" + master + "\" } }")) {
            var rule = "key_prefix \\\"e/\\\" { policy = \\\"read\\\" }";
            Eventually.eventually(
                    "there is a policy",
                    PATIENCE,
                    () -> servers.member(0)
                            .put("/v1/acl/policy", "{\"Name\":\"look\",\"Rules\":\"" + rule + "\"}", master)
                            .contains("\"Name\""));
            assertThat(servers.member(0)
                            .put(
                                    "/v1/acl/token",
                                    "{\"SecretID\":\"" + looker + "\",\"Policies\":[{\"Name\":\"look\"}]}",
                                    master))
                    .contains("SecretID");
            try (var elections = Elections.connect(servers.uri("/e?token=" + master));
                    var leader = elections.stand("billing")) {
                assertThat(leader.await(PATIENCE)).isPresent();
                looks(
                        servers.uri("/e?token=" + looker),
                        leader.candidate(),
                        "key_prefix \"e/\" { policy = \"write\" }");
            }
        }
    }

    @Test
    void redis() throws Exception {
        try (var server = ValkeyServers.start()) {
            assertThat(server.ask(
                            "ACL",
                            "SETUSER",
                            "looker",
                            "on",
                            ">hush-hush",
                            "~e:*",
                            "&e:*",
                            "+@read",
                            "+@scripting",
                            "+@pubsub",
                            "+@connection",
                            "+time"))
                    .isEqualTo("OK");
            try (var elections = Elections.connect(server.uri("?prefix=e"));
                    var leader = elections.stand("billing")) {
                assertThat(leader.await(PATIENCE)).isPresent();
                looks(
                        "redis://looker:hush-hush@127.0.0.1:" + server.port() + "?prefix=e",
                        leader.candidate(),
                        "ACL SETUSER looker ~e:* &e:* +@read +@write");
            }
        }
    }

    @Test
    void dynamoDb() throws Exception {
        try (var server = DynamoDbServer.launch();
                var gateway = DynamoDbGateway.to(server);
                var elections = Elections.connect(server.uri("elections", "&create=true"));
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
            gateway.deny("PutItem", "DeleteItem", "CreateTable");
            looks(gateway.uri("elections", ""), leader.candidate(), "dynamodb:PutItem");
        }
    }

    @Test
    void zooKeeper() throws Exception {
        var readable = List.of(
                new ACL(ZooDefs.Perms.ALL, ZooDefs.Ids.AUTH_IDS),
                new ACL(ZooDefs.Perms.READ, ZooDefs.Ids.ANYONE_ID_UNSAFE));
        try (var ensemble = ZooKeeperServers.start(1, 0);
                var client = CuratorFrameworkFactory.builder()
                        .connectString(ensemble.addresses())
                        .retryPolicy(new RetryOneTime(100))
                        .authorization("digest", "ops:hush-hush".getBytes(StandardCharsets.UTF_8))
                        .aclProvider(new ACLProvider() {
                            @Override
                            public List<ACL> getDefaultAcl() {
                                return readable;
                            }

                            @Override
                            public List<ACL> getAclForPath(String path) {
                                return readable;
                            }
                        })
                        .build()) {
            client.start();
            var config = ZooKeeperConfig.builder()
                    .root("/elections")
                    .tickTime(Duration.ofMillis(100))
                    .build();
            try (var elections = ZooKeeperElections.using(client, config, ElectionsConfig.defaults());
                    var leader = elections.stand("billing", CandidacyConfig.ofLease(Duration.ofSeconds(5)))) {
                assertThat(leader.await(PATIENCE)).isPresent();
                looks(
                        "zk://" + ensemble.addresses() + "/elections?tickTime=100ms",
                        leader.candidate(),
                        "/elections/billing");
            }
        }
    }

    @Test
    void kafka() throws Exception {
        var settings = new TreeMap<String, String>();
        settings.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LINK0:SASL_PLAINTEXT");
        settings.put("listener.name.link0.sasl.enabled.mechanisms", "PLAIN");
        settings.put(
                "listener.name.link0.plain.sasl.jaas.config",
                "org.apache.kafka.common.security.plain.PlainLoginModule required user_looker=\"looker\";");
        settings.put("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
        settings.put("super.users", "User:ANONYMOUS"); // who comes in by the other listener
        try (var brokers = KafkaBrokers.start(1, 1, settings);
                var elections = Elections.connect("kafka://" + brokers.bootstrap());
                var leader = elections.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
            try (var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
                for (var operation : List.of(AclOperation.READ, AclOperation.DESCRIBE)) {
                    admin.createAcls(List.of(new AclBinding(
                                    new ResourcePattern(ResourceType.TOPIC, "bellwether", PatternType.LITERAL),
                                    new AccessControlEntry("User:looker", "*", operation, AclPermissionType.ALLOW))))
                            .all()
                            .get();
                }
                // the controller has confirmed them, and the broker goes by them a moment later
                Eventually.eventually(
                        "the broker knows both rights",
                        PATIENCE,
                        () -> admin.describeAcls(AclBindingFilter.ANY)
                                        .values()
                                        .toCompletionStage()
                                        .toCompletableFuture()
                                        .join()
                                        .size()
                                == 2);
            }
            var jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"looker\""
                    + " password=\"looker\";";
            looks(
                    "kafka://" + brokers.bootstrap(0)
                            + "?security.protocol=SASL_PLAINTEXT&sasl.mechanism=PLAIN&sasl.jaas.config="
                            + URLEncoder.encode(jaas, StandardCharsets.UTF_8).replace("+", "%20"),
                    leader.candidate(),
                    "kafka-acls.sh");
        }
    }

    private void looks(String uri, String leader, String right) {
        var environment = Map.of("BELLWETHER_ON", uri);
        for (var words : List.of("ls", "show billing", "watch --for 2s", "watch billing --for 2s")) {
            var spoken = Spoken.of(environment, words.split(" ", -1));
            assertThat(spoken.code()).as(words + ": " + spoken.all()).isZero();
            assertThat(spoken.out()).as(words).contains("billing", leader);
            assertThat(spoken.err().lines()).as(words).allMatch(line -> line.startsWith("bellwether: warning: "));
        }
        var doctor = Spoken.of(environment, "doctor");
        assertThat(doctor.code()).as(doctor.all()).isIn(ExitCode.OK, ExitCode.FAILED);
        assertThat(doctor.err()).isEmpty();
        var console = Spoken.of(environment, "console", "--for", "2s");
        assertThat(console.code()).as(console.all()).isZero();

        for (var words : List.of("stand-down billing --yes --timeout 40s", "end billing --yes --timeout 40s")) {
            var spoken = Spoken.of(environment, words.split(" ", -1));
            assertThat(spoken.code()).as(words + ": " + spoken.all()).isEqualTo(ExitCode.FAILED);
            assertThat(spoken.err()).as(words).contains(right);
        }
        var run = Spoken.of(environment, "run", "--access-patience", "1ms", "--max-wait", "40s", "fresh", "--", "true");
        assertThat(run.code()).as(run.all()).isIn(ExitCode.RUN_CANDIDACY_FAILED, ExitCode.RUN_FAILED);
        assertThat(run.err()).contains(right.replace("billing", "fresh"));
    }
}
