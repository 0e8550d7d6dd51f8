package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Readers of committed records see each once, whatever becomes of those who publish them. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a table of its own
class OnceTest {

    @Test
    void whatWasCommittedAndNotDeletedIsNotSentAgain() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            failAfterTheSecondCommit(stage, true);
            assertThat(reader.poll().faults(readAll(stage, reader))).isEmpty();
            assertThat(stage.await(RelayEvent.Recovered.class).rows()).isPositive();
        }
    }

    @Test
    void withoutProgressItIs() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            failAfterTheSecondCommit(stage, false);
            var written = readAll(stage, reader);
            assertThat(reader.ledger().faults(written)).isEmpty();
            assertThat(reader.ledger().again()).singleElement().asString().contains("is seen again");
        }
    }

    /** The commit goes through, and the relay is told otherwise. */
    private static void failAfterTheSecondCommit(RelayStage stage, boolean once) throws Exception {
        var commits = new AtomicInteger();
        stage.stash(Writers.numbered(stage.topic, "k", 0, 100));
        stage.relay(
                more -> more.once(once).maxTransactionRecords(20),
                properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                    @Override
                    public void after(String method) {
                        if (method.equals("commitTransaction") && commits.incrementAndGet() == 2) {
                            throw new TimeoutException("planted, though it went through");
                        }
                    }
                }));
        stage.awaitEmpty();
    }

    /** Progress behind the commit, by another producer: who dies in between has committed what nobody knows of. */
    @Test
    void checkerCatchesProgressThatIsWrittenOutsideTheTransaction() throws Exception {
        var commits = new AtomicInteger();
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var outside = new KafkaProducer<byte[], byte[]>(
                        Map.of("bootstrap.servers", stage.bootstrap),
                        new ByteArraySerializer(),
                        new ByteArraySerializer())) {
            var topic = stage.config(more -> more).progress().name();
            stage.stash(Writers.numbered(stage.topic, "k", 0, 100));
            stage.relay(
                    more -> more.maxTransactionRecords(20),
                    properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                        private @Nullable ProducerRecord<byte[], byte[]> progress;

                        @Override
                        public boolean insteadOfSending(ProducerRecord<byte[], byte[]> record) {
                            if (record.topic().equals(topic)) {
                                progress = record;
                            }
                            return record.topic().equals(topic);
                        }

                        @Override
                        public void after(String method) {
                            if (method.equals("commitTransaction")) {
                                if (commits.incrementAndGet() == 2) {
                                    throw new TimeoutException("planted, though it went through");
                                }
                                var unused = outside.send(Objects.requireNonNull(progress));
                                outside.flush();
                            }
                        }
                    }));
            stage.awaitEmpty();
            var written = readAll(stage, reader);
            assertThat(reader.ledger().faults(written)).isEmpty();
            assertThat(reader.faults(written)).singleElement().asString().contains("k: 20 is seen again");
        }
    }

    /** How progress is lost. */
    enum Loss {
        TOPIC_DELETED {
            @Override
            void inflict(Admin admin, String topic) throws Exception {
                admin.deleteTopics(List.of(topic)).all().get();
            }
        },
        RECORDS_DELETED { // as by a retention that somebody has set
            @Override
            void inflict(Admin admin, String topic) throws Exception {
                var policy = new AlterConfigOp(new ConfigEntry("cleanup.policy", "delete"), AlterConfigOp.OpType.SET);
                admin.incrementalAlterConfigs(
                                Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), List.of(policy)))
                        .all()
                        .get();
                var partition = new TopicPartition(topic, 0);
                Eventually.eventually("the broker goes by the new policy", RelayStage.PATIENCE, () -> {
                    try {
                        admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(-1)))
                                .all()
                                .get();
                        return true;
                    } catch (ExecutionException e) {
                        return false;
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                });
            }
        };

        abstract void inflict(Admin admin, String topic) throws Exception;
    }

    @ParameterizedTest
    @EnumSource
    void progressThatIsLostIsNoticedAndReadersSeeARewind(Loss loss) throws Exception {
        var reached = new CountDownLatch(1);
        var goOn = new CountDownLatch(1);
        var commits = new AtomicInteger();
        try (var stage = new RelayStage();
                var reader = stage.reader(true);
                var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", stage.bootstrap))) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 100));
            stage.relay(
                    more -> more.maxTransactionRecords(20),
                    properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                        @Override
                        public void after(String method) {
                            if (method.equals("commitTransaction") && commits.incrementAndGet() == 2) {
                                reached.countDown();
                                await(goOn);
                                throw new TimeoutException("planted, though it went through");
                            }
                        }
                    }));
            reached.await();
            Eventually.eventually(
                    "it is written down that the first is deleted",
                    RelayStage.PATIENCE,
                    () -> stage.number("SELECT max(progress_number) FROM " + stage.table.relay()) == 1);
            loss.inflict(admin, stage.config(more -> more).progress().name());
            goOn.countDown();
            stage.awaitEmpty();
            assertThat(stage.await(RelayEvent.ProgressDoubted.class).reason()).contains("should reach");
            var written = readAll(stage, reader);
            assertThat(reader.ledger().faults(written)).isEmpty();
            assertThat(reader.ledger().again()).isNotEmpty();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Map<String, Integer> readAll(RelayStage stage, Reader reader) throws Exception {
        stage.stash(Writers.numbered(stage.topic, "last", 0, 1));
        stage.awaitEmpty();
        var written = Map.of("k", 100, "last", 1);
        Eventually.eventually(
                "all is read", RelayStage.PATIENCE, () -> reader.poll().ledger().isComplete(written));
        return written;
    }

    @Test
    void rowThatGotTheIdOfOneThatWasPublishedIsAnotherMessage() throws Exception {
        try (var stage = new RelayStage();
                var reader = stage.reader(true)) {
            try (var relay = stage.relay()) {
                stage.stash(Writers.numbered(stage.topic, "k", 0, 3));
                stage.awaitEmpty();
                assertThat(relay.isLeader()).isTrue();
            }
            // as after a database was set back: the ids are given again
            stage.execute("TRUNCATE " + String.join(", ", stage.tables()));
            stage.execute("INSERT INTO " + stage.table.name()
                    + " (id, topic, record_key, record_value) SELECT n, '" + stage.topic
                    + "', 'k', convert_to((n + 2)::text, 'UTF8') FROM generate_series(1, 3) AS n");
            stage.relay();
            stage.awaitEmpty();
            Eventually.eventually(
                    "all is read",
                    RelayStage.PATIENCE,
                    () -> reader.poll().ledger().isComplete(Map.of("k", 6)));
            assertThat(reader.faults(Map.of("k", 6))).isEmpty();
        }
    }

    /** It may be in the log, as the rows are that it names. */
    @Test
    void whatATransactionHasSaidThatWasAbortedIsNotBelieved() throws Exception {
        try (var stage = new RelayStage()) {
            var config = stage.config(more -> more);
            var progress = config.progress();
            progress.recover(0, 0, 1);
            try (var producer = new KafkaProducer<byte[], byte[]>(
                    ProducerSettings.of(config, config.transactionalIds(0).get(0)))) {
                producer.initTransactions();
                for (var number = 1; number <= 2; number++) {
                    producer.beginTransaction();
                    var unused = producer.send(progress.record(0, Published.of(number, 0, 1, List.of())));
                    producer.flush();
                    if (number == 1) {
                        producer.commitTransaction();
                    } else {
                        producer.abortTransaction();
                    }
                }
            }
            assertThat(progress.recover(0, 0).last())
                    .as("NEVER: rows are deleted that were not published")
                    .isEqualTo(1);
        }
    }

    /** A relay that takes over learns of no more, and the rows of all others must be gone by then. */
    @Test
    void noMoreTransactionsBeginThanProgressTellsOfWhileNothingIsDeleted() throws Exception {
        var goOn = new CountDownLatch(1);
        var begun = new AtomicInteger();
        try (var stage = new RelayStage()) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 2 * ProgressTopic.WINDOW));
            stage.relay(
                    more -> more.maxTransactionRecords(1),
                    FaultyDatabase.of(stage.database, new FaultyProducer.Fault() {
                        @Override
                        public void before(String statement) {
                            if (statement.equals("delete")) {
                                await(goOn);
                            }
                        }
                    }),
                    properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                        @Override
                        public void before(String method) {
                            if (method.equals("beginTransaction")) {
                                begun.incrementAndGet();
                            }
                        }
                    }));
            try {
                Eventually.eventually(
                        "as many have begun", RelayStage.PATIENCE, () -> begun.get() >= ProgressTopic.WINDOW);
                Eventually.throughout(
                        "no more begin", Duration.ofMillis(300), () -> begun.get() == ProgressTopic.WINDOW);
            } finally {
                goOn.countDown();
            }
            stage.awaitEmpty();
        }
    }

    /** What a database may lose that dies: deletes, and nothing that a relay goes by which takes over. */
    @Test
    void epochsAndMarksAndWhatIsParkedAreWrittenDurably() throws Exception {
        var commits = new ConcurrentSkipListSet<String>();
        try (var stage = new RelayStage()) {
            var watched = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
                var connection = stage.connect();
                return FaultyDatabase.proxy(Connection.class, (called, with) -> {
                    var result = FaultyDatabase.call(connection, called, with);
                    var sql = with == null ? "" : String.valueOf(with[0]);
                    return result instanceof PreparedStatement statement
                            ? FaultyDatabase.proxy(PreparedStatement.class, (executed, by) -> {
                                if (executed.getName().startsWith("execute")) {
                                    writes(sql, stage).ifPresent(what -> commits.add(what + commits(connection)));
                                }
                                return FaultyDatabase.call(statement, executed, by);
                            })
                            : result;
                });
            });
            stage.stash(
                    Message.of(stage.topic, "k", "0"),
                    Message.to(stage.topic).key("bad").partition(99).build());
            stage.relay(more -> more.poison(Poison.PARK), watched, KafkaProducer::new);
            stage.awaitEmpty();
            Eventually.eventually(
                    "the mark is written",
                    RelayStage.PATIENCE,
                    () -> commits.stream().anyMatch(what -> what.startsWith("mark")));
        }
        assertThat(commits).containsExactly("epoch on", "mark on", "parked on");
    }

    private static Optional<String> writes(String sql, RelayStage stage) {
        if (sql.startsWith("INSERT INTO " + stage.table.relay() + " AS r")) {
            return Optional.of("epoch ");
        }
        if (sql.startsWith("INSERT INTO " + stage.table.parked())) {
            return Optional.of("parked ");
        }
        return sql.startsWith("UPDATE " + stage.table.relay() + " SET progress_epoch")
                ? Optional.of("mark ")
                : Optional.empty();
    }

    private static String commits(Connection connection) {
        try (var statement = connection.createStatement();
                var result = statement.executeQuery("SHOW synchronous_commit")) {
            return result.next() ? result.getString(1) : "";
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static Stream<Named<String>> databases() {
        return Stream.of(
                Named.of("PostgreSQL", PostgresServer.shared().uri()),
                Named.of("MariaDB or MySQL", MysqlFamilyServer.shared().uri()));
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aLeaderThatKeepsNoProgressIsNoticedByTheNext(String database) throws Exception {
        try (var stage = new RelayStage(Servers.dataSource(database), OutboxTable.Layout.BELLWETHER)) {
            publish(stage, true, 0, 3);
            publish(stage, true, 3, 6);
            assertThat(stage.events).noneMatch(RelayEvent.ProgressDoubted.class::isInstance);
            publish(stage, false, 6, 9);
            publish(stage, true, 9, 12);
            assertThat(stage.await(RelayEvent.ProgressDoubted.class).reason()).contains("kept progress");
            stage.events.clear();
            publish(stage, true, 12, 15);
            assertThat(stage.events).noneMatch(RelayEvent.ProgressDoubted.class::isInstance);
        }
    }

    @ParameterizedTest
    @MethodSource("databases")
    void aDatabaseThatWasSetBackByManyTransactionsIsNoticed(String database) throws Exception {
        try (var stage = new RelayStage(Servers.dataSource(database), OutboxTable.Layout.BELLWETHER)) {
            publish(stage, true, 0, 2 * ProgressTopic.WINDOW);
            var before = stage.number("SELECT max(progress_number) FROM " + stage.table.relay() + " WHERE shard = 0");
            assertThat(before).isBetween((long) ProgressTopic.WINDOW, 2L * ProgressTopic.WINDOW);
            stage.execute("UPDATE " + stage.table.relay() + " SET progress_number = 3 WHERE shard = 0");
            publish(stage, true, 2 * ProgressTopic.WINDOW, 2 * ProgressTopic.WINDOW + 1);
            assertThat(stage.await(RelayEvent.ProgressDoubted.class).reason()).contains("some are missing");
            stage.events.clear();
            publish(stage, true, 2 * ProgressTopic.WINDOW + 1, 2 * ProgressTopic.WINDOW + 2);
            assertThat(stage.events).noneMatch(RelayEvent.ProgressDoubted.class::isInstance);
        }
    }

    @Test
    void leaderThatEndsInOrderLeavesNothingToLookFor() throws Exception {
        try (var stage = new RelayStage()) {
            // so long that it has time to write that down
            try (var relay = stage.relay(more -> more.maxTransactionRecords(1).lease(Duration.ofSeconds(60)))) {
                stage.stash(Writers.numbered(stage.topic, "k", 0, 3));
                stage.awaitEmpty();
                assertThat(relay.isLeader()).isTrue();
            }
            assertThat(stage.number("SELECT max(progress_number) FROM " + stage.table.relay()))
                    .isEqualTo(3);
        }
    }

    /** One transaction for each record. */
    private static void publish(RelayStage stage, boolean once, int from, int to) throws Exception {
        try (var relay = stage.relay(more -> more.once(once).maxTransactionRecords(1))) {
            stage.stash(Writers.numbered(stage.topic, "k", from, to));
            stage.awaitEmpty();
            assertThat(relay.isLeader()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = AclOperation.class,
            names = {"WRITE", "READ", "CREATE"})
    void relayThatMayNotKeepProgressGoesOnAndSaysSo(AclOperation denied) throws Exception {
        var settings = new TreeMap<String, String>();
        settings.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LINK0:SASL_PLAINTEXT");
        settings.put("listener.name.link0.sasl.enabled.mechanisms", "PLAIN");
        settings.put(
                "listener.name.link0.plain.sasl.jaas.config",
                "org.apache.kafka.common.security.plain.PlainLoginModule required user_relay=\"relay\";");
        settings.put("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
        settings.put("super.users", "User:ANONYMOUS"); // who comes in by the other listener
        settings.put("auto.create.topics.enable", "false");
        try (var brokers = KafkaBrokers.start(1, 1, settings);
                var stage = new RelayStage(brokers.bootstrap())) {
            var progress = stage.config(more -> more).progress();
            if (denied != AclOperation.CREATE) {
                try (var early = stage.relay()) {
                    stage.stash(Writers.numbered(stage.topic, "early", 0, 3));
                    stage.awaitEmpty();
                    assertThat(early.isLeader()).isTrue();
                }
            }
            try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", stage.bootstrap))) {
                admin.createAcls(List.of(
                                acl(ResourceType.TOPIC, "*", AclOperation.ALL, AclPermissionType.ALLOW),
                                acl(ResourceType.TRANSACTIONAL_ID, "*", AclOperation.ALL, AclPermissionType.ALLOW),
                                acl(ResourceType.TOPIC, progress.name(), denied, AclPermissionType.DENY),
                                acl(
                                        ResourceType.CLUSTER,
                                        "kafka-cluster",
                                        AclOperation.CREATE,
                                        AclPermissionType.DENY)))
                        .all()
                        .get();
                // the controller has confirmed them, and the broker goes by them a moment later
                Eventually.eventually(
                        "the broker knows the rights",
                        RelayStage.PATIENCE,
                        () -> admin.describeAcls(AclBindingFilter.ANY)
                                        .values()
                                        .toCompletionStage()
                                        .toCompletableFuture()
                                        .join()
                                        .size()
                                == 4);
            }
            stage.stash(Writers.numbered(stage.topic, "k", 0, 50));
            stage.relay(more -> more.maxTransactionRecords(20)
                    .producer(Map.of(
                            "bootstrap.servers",
                            brokers.bootstrap(0),
                            "security.protocol",
                            "SASL_PLAINTEXT",
                            "sasl.mechanism",
                            "PLAIN",
                            "sasl.jaas.config",
                            "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"relay\""
                                    + " password=\"relay\";")));
            stage.awaitEmpty();
            try (var reader = stage.reader(true)) {
                Eventually.eventually(
                        "all is read",
                        RelayStage.PATIENCE,
                        () -> reader.poll().ledger().isComplete(Map.of("k", 50)));
                var written = denied == AclOperation.CREATE ? Map.of("k", 50) : Map.of("k", 50, "early", 3);
                assertThat(reader.faults(written)).isEmpty();
            }
            assertThat(stage.await(RelayEvent.ProgressRefused.class).reason()).containsIgnoringCase("authoriz");
            assertThat(stage.events).noneMatch(RelayEvent.Faulted.class::isInstance);
        }
    }

    /** Where a commit that was delayed may hit it, a transaction never has its progress in the log without its rows. */
    @Test
    void progressIsSentAlongOnlyIfBrokersRefuseACommitThatIsLate() throws Exception {
        try (var brokers = KafkaBrokers.start(1);
                var stage = new RelayStage(brokers.bootstrap());
                var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", stage.bootstrap))) {
            assertThat(progressBeforeTheFlush(stage)).containsOnly(true);
            admin.updateFeatures(
                            Map.of(
                                    "transaction.version",
                                    new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE)),
                            new UpdateFeaturesOptions())
                    .all()
                    .get();
            assertThat(progressBeforeTheFlush(stage)).containsOnly(false);
        }
    }

    /** Returns of each record of progress whether it was sent before all rows of its transaction were in the log. */
    private static List<Boolean> progressBeforeTheFlush(RelayStage stage) throws Exception {
        var told = new CopyOnWriteArrayList<Boolean>();
        var topic = stage.config(more -> more).progress().name();
        try (var relay = stage.relay(
                more -> more,
                properties -> FaultyProducer.of(properties, new FaultyProducer.Fault() {
                    private volatile boolean flushed;

                    @Override
                    public void before(String method) {
                        flushed = flushed && !method.equals("beginTransaction");
                    }

                    @Override
                    public void after(String method) {
                        flushed = flushed || method.equals("flush");
                    }

                    @Override
                    public boolean insteadOfSending(ProducerRecord<byte[], byte[]> record) {
                        if (record.topic().equals(topic)) {
                            told.add(!flushed);
                        }
                        return false;
                    }
                }))) {
            stage.stash(Writers.numbered(stage.topic, "k", 0, 20));
            stage.awaitEmpty();
            assertThat(relay.isLeader()).isTrue();
        }
        return told;
    }

    private static AclBinding acl(
            ResourceType kind, String name, AclOperation operation, AclPermissionType permission) {
        return new AclBinding(
                new ResourcePattern(kind, name, PatternType.LITERAL),
                new AccessControlEntry("User:relay", "*", operation, permission));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"|compact", "compact,delete|compact,delete"})
    void topicOfProgressThatABrokerMadeIsCompactedAndWhatSomebodyHasSetStays(@Nullable String set, String then)
            throws Exception {
        try (var stage = new RelayStage();
                var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", stage.bootstrap))) {
            var progress = stage.config(more -> more).progress();
            Servers.topic(stage.bootstrap, progress.name(), 1, set == null ? Map.of() : Map.of("cleanup.policy", set));
            progress.recover(0, 0, 1);
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, progress.name());
            Eventually.eventually("it is cleaned by " + then, RelayStage.PATIENCE, () -> {
                try {
                    var config = admin.describeConfigs(List.of(resource)).all().get();
                    return Objects.requireNonNull(config.get(resource))
                            .get("cleanup.policy")
                            .value()
                            .equals(then);
                } catch (InterruptedException | ExecutionException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
    }

    @Test
    void topicOfProgressIsCompactedAndHasAPartitionForEachShard() throws Exception {
        try (var stage = new RelayStage()) {
            var progress = stage.config(more -> more).progress();
            progress.recover(0, 0, 1);
            progress.recover(0, 0, 3);
            progress.recover(0, 0, 2);
            try (var admin = Admin.create(Map.<String, Object>of("bootstrap.servers", stage.bootstrap))) {
                var found = admin.describeTopics(List.of(progress.name()))
                        .allTopicNames()
                        .get()
                        .get(progress.name());
                assertThat(Optional.ofNullable(found))
                        .isPresent()
                        .get()
                        .satisfies(topic -> assertThat(topic.partitions()).hasSize(3));
            }
            assertThat(progress.recover(2, 0).last()).isZero();
            assertThat(progress.partitions()).isEqualTo(3);
            assertThatThrownBy(() -> progress.recover(7, 0)).hasMessageContaining("3 partitions");
        }
    }

    @Test
    void namesThatNoTopicMayHaveGetTopicsOfTheirOwn() {
        var one = RelayConfig.named("a b").build().progress().name();
        var other = RelayConfig.named("a_b").build().progress().name();
        var third = RelayConfig.named("a/b").build().progress().name();
        assertThat(List.of(one, other, third))
                .doesNotHaveDuplicates()
                .allMatch(name -> name.matches("[a-zA-Z0-9._-]{1,249}"));
        assertThat(RelayConfig.named("ü".repeat(200)).build().progress().name()).matches("[a-zA-Z0-9._-]{1,249}");
    }
}
