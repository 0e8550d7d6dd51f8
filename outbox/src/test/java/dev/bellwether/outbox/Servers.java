package dev.bellwether.outbox;

import dev.bellwether.fixtures.LendingDataSource;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.jspecify.annotations.Nullable;

/** The brokers and names that tests share. */
final class Servers {
    /** Else a topic that is missing is made as soon as somebody asks for it. */
    static final Map<String, String> SETTINGS = Map.of("auto.create.topics.enable", "false");

    /** What the doctor says of the MariaDB and the MySQL here, which are set up to be fast. */
    static final Predicate<String> FORGETFUL = Pattern.compile(
                    "innodb_flush_log_at_trx_commit is 2|sync_binlog is 0|there is no binary log,.*")
            .asMatchPredicate();

    private static final AtomicInteger SERIAL = new AtomicInteger();
    private static @Nullable KafkaBrokers brokers; // ends with this JVM

    private Servers() {}

    /** Returns the one broker that tests share: three do more for each other than for a test. */
    static synchronized KafkaBrokers brokers() {
        if (brokers == null) {
            brokers = KafkaBrokers.start(1, 1, SETTINGS);
        }
        return brokers;
    }

    /** Returns a name that nobody has used. */
    static String fresh(String beginning) {
        return beginning + "_" + ProcessHandle.current().pid() + "_" + SERIAL.incrementAndGet();
    }

    static void topic(String bootstrap, String topic, int partitions, Map<String, String> settings) {
        try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
            admin.createTopics(
                            List.of(new NewTopic(topic, Optional.of(partitions), Optional.empty()).configs(settings)))
                    .all()
                    .get();
        } catch (InterruptedException | java.util.concurrent.ExecutionException e) {
            throw new IllegalStateException("no topic " + topic, e);
        }
    }

    /** Connections to what a URI names. */
    static DataSource dataSource(String uri) {
        return new LendingDataSource() {
            @Override
            public Connection getConnection() throws SQLException {
                return DriverManager.getConnection(uri);
            }
        };
    }
}
