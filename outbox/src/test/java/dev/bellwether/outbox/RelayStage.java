package dev.bellwether.outbox;

import dev.bellwether.Elections;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.fixtures.Sql;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;

/** A table, a topic, elections, and relays between them. Confined to a test. */
final class RelayStage implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(90);

    static final Ring SMALL = new Ring(60, 4);

    final String name = Servers.fresh("outbox");
    final OutboxTable table;
    final String topic = Servers.fresh("topic");
    final DataSource database;
    final String bootstrap;
    final List<RelayEvent> events = new CopyOnWriteArrayList<>();
    private final Elections elections = Elections.connect("memory:" + name);
    private final List<OutboxRelay> relays = new ArrayList<>();

    /** With a table of the form that {@code -Dbellwether.outbox.form} says, so that all tests may be run over both. */
    RelayStage() throws SQLException {
        this(chosenForm());
    }

    /** On PostgreSQL, in our own layout. */
    RelayStage(OutboxForm form) throws SQLException {
        this(Servers.dataSource(PostgresServer.shared().uri()), form);
    }

    /** In our own layout; a rotated table has small parts, so that they are rotated. */
    RelayStage(DataSource database, OutboxForm form) throws SQLException {
        this(database, OutboxTable.Layout.BELLWETHER, Servers.brokers().bootstrap(), form);
    }

    RelayStage(OutboxTable.Layout layout) throws SQLException {
        this(Servers.dataSource(PostgresServer.shared().uri()), layout);
    }

    RelayStage(DataSource database, OutboxTable.Layout layout) throws SQLException {
        this(database, layout, Servers.brokers().bootstrap(), OutboxForm.PLAIN);
    }

    /** On brokers of its own. */
    RelayStage(String bootstrap) throws SQLException {
        this(Servers.dataSource(PostgresServer.shared().uri()), OutboxTable.Layout.BELLWETHER, bootstrap, chosenForm());
    }

    private static OutboxForm chosenForm() {
        return OutboxForm.valueOf(
                System.getProperty("bellwether.outbox.form", "plain").toUpperCase(Locale.ROOT));
    }

    private RelayStage(DataSource database, OutboxTable.Layout layout, String bootstrap, OutboxForm form)
            throws SQLException {
        this.database = database;
        this.bootstrap = bootstrap;
        table = new OutboxTable(name, layout);
        try (var connection = database.getConnection()) {
            OutboxSchema.create(
                    connection,
                    form == OutboxForm.ROTATED
                            ? new RotatedStore(table, SMALL)
                            : Store.of(connection, table).in(form));
        }
        Servers.topic(bootstrap, topic, 3, Map.of());
    }

    RelayConfig config(UnaryOperator<RelayConfig.Builder> more) {
        return more.apply(RelayConfig.named(name)
                        .table(table)
                        .producer(Map.of("bootstrap.servers", bootstrap, "max.block.ms", 5_000))
                        .once(true)
                        .lease(Duration.ofSeconds(20))
                        .backoff(Duration.ofMillis(10))
                        .listener(events::add))
                .build();
    }

    OutboxRelay relay() {
        return relay(more -> more);
    }

    OutboxRelay relay(UnaryOperator<RelayConfig.Builder> more) {
        return relay(more, KafkaProducer::new);
    }

    OutboxRelay relay(
            UnaryOperator<RelayConfig.Builder> more,
            Function<Map<String, Object>, Producer<byte[], byte[]>> producers) {
        return relay(more, database, producers);
    }

    OutboxRelay relay(
            UnaryOperator<RelayConfig.Builder> more,
            DataSource through,
            Function<Map<String, Object>, Producer<byte[], byte[]>> producers) {
        var relay = OutboxRelay.start(through, config(more), elections, false, producers);
        relays.add(relay);
        return relay;
    }

    Elections elections() {
        return elections;
    }

    void stash(Message... messages) throws SQLException {
        stash(List.of(messages));
    }

    void stash(Collection<Message> messages) throws SQLException {
        try (var connection = database.getConnection()) {
            connection.setAutoCommit(false);
            Outbox.of(table).stash(connection, messages);
            connection.commit();
        }
    }

    Reader reader(boolean committedOnly) {
        return new Reader(bootstrap, committedOnly, topic);
    }

    long number(String sql) {
        try (var connection = connect()) {
            return Sql.number(connection, sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    void execute(String sql) throws SQLException {
        try (var connection = connect()) {
            Sql.execute(connection, sql);
        }
    }

    Connection connect() throws SQLException {
        return database.getConnection();
    }

    /** Returns the table, and what a rotated one has besides. */
    List<String> tables() {
        try (var connection = database.getConnection()) {
            var tables = new ArrayList<>(List.of(table.name()));
            if (Store.of(connection, table).asFound(connection) instanceof RotatedStore rotated) {
                tables.add(table.done());
                for (var part = 0; part < rotated.ring().parts(); part++) {
                    tables.add(rotated.part(part));
                    tables.add(rotated.donePart(part));
                }
            }
            return tables;
        } catch (SQLException e) {
            throw new IllegalStateException("nobody tells of which tables " + table.name() + " consists", e);
        }
    }

    long left() {
        try (var connection = database.getConnection()) {
            return Store.of(connection, table).asFound(connection) instanceof RotatedStore rotated
                    ? number("SELECT count(*) FROM (" + rotated.unpublishedRows() + ") AS rows")
                    : number("SELECT count(*) FROM " + table.name());
        } catch (SQLException e) {
            throw new IllegalStateException("nobody tells what is left in " + table.name(), e);
        }
    }

    /** Waits for as long as rows leave the table: a busy machine takes long, and only a standstill is a failure. */
    void awaitEmpty() {
        for (var left = left(); left > 0; ) {
            var before = left;
            left = Eventually.eventually(
                    "fewer rows are left than " + before,
                    PATIENCE,
                    () -> Optional.of(left()).filter(now -> now < before));
        }
    }

    <E extends RelayEvent> E await(Class<E> kind) {
        return Eventually.eventually(
                "a " + kind.getSimpleName(),
                PATIENCE,
                () -> events.stream().filter(kind::isInstance).map(kind::cast).findFirst());
    }

    @Override
    public void close() {
        relays.forEach(OutboxRelay::close);
        elections.close();
    }
}
