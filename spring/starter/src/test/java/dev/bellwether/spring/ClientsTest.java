package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.ConsulServers;
import dev.bellwether.fixtures.DynamoDbServer;
import dev.bellwether.fixtures.EtcdServers;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.fixtures.NatsServers;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.sql.SqlConfig;
import dev.bellwether.sql.SqlElections;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.zookeeper.ZooKeeperServers;
import io.nats.client.Connection;
import io.nats.client.Nats;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.retry.RetryOneTime;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.util.ClassUtils;

/**
 * Elections over the clients that an application has, each with a server of its own. What the application made, it
 * closes.
 */
@Timeout(180)
class ClientsTest {
    /** Longer than our patience: whoever takes the seat was handed it. */
    private static final Duration LEASE = Duration.ofSeconds(50);

    // JUnit calls start before anything else can look
    @SuppressWarnings("NullAway.Init")
    private static KafkaBrokers brokers;

    @BeforeAll
    static void start() {
        brokers = KafkaBrokers.start(1);
    }

    @AfterAll
    static void stop() {
        brokers.close();
    }

    @Test
    void theKafkaOfThePropertiesIsUsed() {
        try (var others = Elections.connect("kafka://" + brokers.bootstrap() + "?topic=seats")) {
            standsAndHandsOver(kafka(brokers.bootstrap()).withPropertyValues("bellwether.kafka.topic=seats"), others);
        }
    }

    @Test
    void theLogDecidesIfThePropertiesSaySo() {
        kafka(brokers.bootstrap())
                .withPropertyValues(
                        "bellwether.kafka.topic=seats-log",
                        "bellwether.kafka.by=log",
                        "bellwether.kafka.longest-lease=10s")
                .run(context -> {
                    var elections = context.getBean(Elections.class);
                    assertThatThrownBy(() -> elections.stand("billing", CandidacyConfig.ofLease(LEASE)))
                            .hasMessageContaining("longest.lease is 10 s");
                });
    }

    @Test
    void theConnectionDetailsOfKafkaComeBeforeItsProperties() {
        try (var others = Elections.connect("kafka://" + brokers.bootstrap())) {
            var details = moved("KafkaConnectionDetails");
            standsAndHandsOver(
                    withBean(kafka("127.0.0.1:" + Ports.free()), details, details(details, brokers.bootstrap())),
                    others);
        }
    }

    @Test
    @SuppressWarnings("try") // its close can be interrupted
    void theNatsConnectionIsUsedAndStaysOpen() throws Exception {
        try (var server = NatsServers.alone();
                var connection = Nats.connect("nats://127.0.0.1:" + server.port());
                var others = Elections.connect(server.uri("bucket=seats"))) {
            standsAndHandsOver(Contexts.having(connection).withPropertyValues("bellwether.nats.bucket=seats"), others);
            assertThat(connection.getStatus()).isEqualTo(Connection.Status.CONNECTED);
        }
    }

    @Test
    void etcdIsReachedByItsUri() {
        try (var servers = EtcdServers.start(1);
                var others = Elections.connect(servers.uri("/seats"))) {
            standsAndHandsOver(Contexts.plain().withPropertyValues("bellwether.uri=" + servers.uri("/seats")), others);
        }
    }

    @Test
    void consulIsReachedByItsUri() {
        try (var servers = ConsulServers.start(1);
                var others = Elections.connect(servers.uri("/seats"))) {
            standsAndHandsOver(Contexts.plain().withPropertyValues("bellwether.uri=" + servers.uri("/seats")), others);
        }
    }

    @Test
    @Tag("kubernetes")
    void kubernetesIsReachedByItsUri() {
        try (var servers = KubernetesServers.start(1, 1);
                var others = Elections.connect(servers.uri("seats", ""))) {
            standsAndHandsOver(
                    Contexts.plain().withPropertyValues("bellwether.uri=" + servers.uri("seats", "")), others);
        }
    }

    @Test
    void dynamoDbIsReachedByItsUri() {
        try (var server = DynamoDbServer.launch();
                var others = Elections.connect(server.uri("seats", "&create=true"))) {
            standsAndHandsOver(
                    Contexts.plain().withPropertyValues("bellwether.uri=" + server.uri("seats", "")), others);
        }
    }

    @Test
    void valkeyIsReachedByItsUri() {
        try (var server = ValkeyServers.start();
                var others = Elections.connect(server.uri("?prefix=seats"))) {
            standsAndHandsOver(
                    Contexts.plain().withPropertyValues("bellwether.uri=" + server.uri("?prefix=seats")),
                    others,
                    Duration.ofSeconds(5)); // the first leader on a server that was just started waits for so long
        }
    }

    @Test
    void theCuratorFrameworkIsUsedAndStaysOpen() {
        try (var servers = ZooKeeperServers.start(1, 0);
                var client = CuratorFrameworkFactory.newClient(
                        servers.addresses(), 60_000, 10_000, new RetryOneTime(1_000));
                var others = Elections.connect("zk://" + servers.addresses() + "/seats")) {
            client.start();
            standsAndHandsOver(Contexts.having(client).withPropertyValues("bellwether.zookeeper.root=/seats"), others);
            assertThat(client.getState()).isEqualTo(CuratorFrameworkState.STARTED);
            assertThat(client.getZookeeperClient().isConnected()).isTrue();
        }
    }

    @Test
    void theDataSourceIsUsedAndStaysOpen() {
        var uri = database();
        try (var pool = pool(uri);
                var others = others(uri, "seats")) {
            standsAndHandsOver(Contexts.having(pool).withPropertyValues("bellwether.sql.table=seats"), others);
            assertThat(pool.isClosed()).isFalse();
        }
    }

    @Test
    void aClientThatTheContextClosesIsOpenUntilTheSeatIsGivenUp() {
        var uri = database();
        try (var pool = pool(uri);
                var others = others(uri, SqlConfig.defaults().table())) {
            standsAndHandsOver(withBean(Contexts.plain(), DataSource.class, pool), others);
            assertThat(pool.isClosed()).isTrue();
        }
    }

    /**
     * Stands in that application, is seen by others on the same server, and lets one of them lead when its context has
     * closed.
     */
    private static void standsAndHandsOver(ApplicationContextRunner application, Elections others) {
        standsAndHandsOver(application, others, LEASE);
    }

    private static void standsAndHandsOver(ApplicationContextRunner application, Elections others, Duration lease) {
        application
                .withPropertyValues("bellwether.elections.billing.lease=" + lease)
                .run(context -> {
                    var candidacy = context.getBean(Candidacies.class).of("billing");
                    assertThat(candidacy.await(Contexts.PATIENCE)).isPresent();
                    assertThat(others.election("billing").leader().orElseThrow().candidate())
                            .isEqualTo(candidacy.candidate());
                    var config = CandidacyConfig.builder().lease(lease).build();
                    try (var successor = others.stand("billing", config)) {
                        context.close();
                        assertThat(successor.await(Contexts.PATIENCE)).isPresent();
                    }
                });
    }

    /** An application with Spring's own settings of Kafka. */
    private static ApplicationContextRunner kafka(String bootstrap) {
        return Contexts.plain()
                .withConfiguration(AutoConfigurations.of(moved("KafkaAutoConfiguration")))
                .withPropertyValues("spring.kafka.bootstrap-servers=" + bootstrap);
    }

    /** Returns a class that is in one package in Spring Boot 3, and in another in 4. */
    private static Class<?> moved(String name) {
        var loader = ClientsTest.class.getClassLoader();
        var three = "org.springframework.boot.autoconfigure.kafka." + name;
        var four = "org.springframework.boot.kafka.autoconfigure." + name;
        return ClassUtils.resolveClassName(ClassUtils.isPresent(three, loader) ? three : four, loader);
    }

    /** As what starts a broker for the application would tell of it. */
    private static Object details(Class<?> type, String bootstrap) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            if (method.getName().equals("getBootstrapServers")) {
                return List.of(bootstrap);
            }
            return method.isDefault()
                    ? InvocationHandler.invokeDefault(proxy, method, arguments)
                    : method.invoke(bootstrap, arguments); // of Object
        });
    }

    private static <T> ApplicationContextRunner withBean(
            ApplicationContextRunner application, Class<T> type, Object bean) {
        return application.withBean(type, () -> type.cast(bean));
    }

    private static String database() {
        return "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    }

    private static HikariDataSource pool(String uri) {
        var pool = new HikariDataSource();
        pool.setJdbcUrl(uri);
        return pool;
    }

    private static Elections others(String uri, String table) {
        var source = new JdbcDataSource();
        source.setURL(uri);
        return SqlElections.using(source, SqlConfig.builder().table(table).build(), ElectionsConfig.defaults());
    }
}
