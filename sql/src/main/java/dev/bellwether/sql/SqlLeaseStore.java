package dev.bellwether.sql;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Seats in a table. Thread-safe: everything is handed to the {@link Desk}, whose thread talks to the database. */
final class SqlLeaseStore implements LeaseStore {
    private final Source source;
    private final SqlConfig config;
    private final Outlook outlook = new Outlook();
    private final Clerk clerk;
    private final Desk desk;
    private final @Nullable PostgresListener listener;
    private final AtomicBoolean listens = new AtomicBoolean();
    private final String announcer = "a" + UUID.randomUUID().toString().replace("-", "");

    private SqlLeaseStore(Source source, SqlConfig config, Found found) {
        this.source = source;
        this.config = config;
        var postgres = found.dialect == Dialect.POSTGRESQL;
        var channel = "bellwether_" + found.tableId;
        clerk = new Clerk(
                source,
                postgres ? new PostgresSeats(config, channel, announcer) : new Seats(found.dialect, config),
                outlook,
                new Faults(source, config),
                config.poll().orElse(found.dialect.poll()));
        desk = new Desk(source, clerk, found.dialect);
        listener = postgres && config.listen() ? new PostgresListener(source, channel, new Hearing()) : null;
    }

    /**
     * What the connection told of the database.
     *
     * @param tableId a number that no other table of the database has, where channels need one; else zero
     */
    private record Found(Dialect dialect, long tableId) {}

    /**
     * Connects, finds out what database this is, and sees to its tables.
     *
     * @throws ElectionException if something is wrong that a person must mend
     * @throws dev.bellwether.UnavailableException if the database does not answer
     */
    static SqlLeaseStore open(Source source, SqlConfig config) {
        var session = new Session(source);
        try {
            var found = session.use(source.startPatience(), connection -> {
                var dialect = Dialect.of(connection);
                Tables.require(connection, dialect, config);
                return new Found(dialect, dialect == Dialect.POSTGRESQL ? Tables.id(connection, config) : 0);
            });
            var store = new SqlLeaseStore(source, config, found);
            store.desk.start();
            return store;
        } catch (SQLException e) {
            throw new Faults(source, config).atStart(e);
        } finally {
            session.close();
        }
    }

    @Override
    public String describe() {
        return source.toString();
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        if (election.indexOf('\0') >= 0) {
            throw new ElectionException("election name holds U+0000, which no database keeps");
        }
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        var session = new Session(source);
        try {
            return session.use(Checkup.patience(), connection -> Checkup.of(connection, config, candidacy));
        } catch (SQLException e) {
            throw new Faults(source, config).inOperation(e);
        } finally {
            session.close();
        }
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        return desk.submit(new Request.Acquire(claim, new CompletableFuture<>()));
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        return leases.stream()
                .<CompletionStage<Answer>>map(lease -> desk.submit(new Request.Renew(lease, new CompletableFuture<>())))
                .toList();
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        return desk.submit(new Request.Release(claim, new CompletableFuture<>()));
    }

    @Override
    public CompletionStage<View> read(String election) {
        return desk.submit(new Request.Read(election, new CompletableFuture<>()));
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        var watch = outlook.add(election, watcher);
        if (listener != null && listens.compareAndSet(false, true)) {
            listener.start(); // who only asks needs no second connection
        }
        desk.wake();
        return watch;
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return desk.submit(new Request.Command(election, order, new CompletableFuture<>()));
    }

    @Override
    public CompletionStage<List<String>> list() {
        return desk.submit(new Request.Names(new CompletableFuture<>()));
    }

    @Override
    public void close() {
        if (listener != null && listens.get()) {
            listener.close(); // with the help of the desk
        }
        desk.close();
    }

    /** Takes what the listener hears to where it belongs. Called on the listener's thread. */
    private final class Hearing implements PostgresListener.Ears {
        @Override
        public void probe() {
            desk.submit(new Request.Probe(new CompletableFuture<>()));
        }

        @Override
        public void listening() {
            clerk.listening(true);
            desk.wake();
        }

        @Override
        public void deaf() {
            clerk.listening(false);
            desk.wake();
        }

        @Override
        public void heard(PostgresSeats.Announcement announcement) {
            var row = announcement.row();
            if (row == null) {
                return;
            }
            if (!announcement.whole()) {
                desk.submit(new Request.Look(row.election(), new CompletableFuture<>()));
            } else {
                outlook.tell(announcement.announcer().equals(announcer) ? row : Outlook.afterOthers(row));
            }
        }
    }
}
