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
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Seats in a table. Thread-safe: everything is handed to the {@link RequestQueue}, whose thread talks to the database.
 */
final class SqlLeaseStore implements LeaseStore {
    private final Source source;
    private final SqlConfig config;
    private final Found found;
    private final SqlErrors faults;
    /** Whether a candidate may stand here: asked when the first does, since anybody who only looks need not. */
    private volatile boolean writable;

    private final WatchRegistry watches = new WatchRegistry();
    private final BatchExecutor executor;
    private final RequestQueue requests;
    private final @Nullable PostgresListener listener;
    private final Looks looks;

    private final String announcer = "a" + UUID.randomUUID().toString().replace("-", "");

    private SqlLeaseStore(Source source, SqlConfig config, Found found) {
        this.source = source;
        this.config = config;
        this.found = found;
        writable = found.writable;
        faults = new SqlErrors(source, config, found.grant);
        var postgres = found.dialect == Dialect.POSTGRESQL;
        var channel = PostgresSeats.channel(found.table);
        executor = new BatchExecutor(
                source,
                postgres ? new PostgresSeats(config, channel, announcer) : new SeatTable(found.dialect, config),
                watches,
                faults,
                config.poll().orElse(found.dialect.poll()),
                this::lookAfterListener);
        requests = new RequestQueue(source, executor, found.dialect);
        looks = new Looks(
                election -> requests.submit(new Request.Look(election, new CompletableFuture<>())), executor::missed);
        listener = postgres && config.listen()
                ? new PostgresListener(source, channel, announcer, new AnnouncementReceiver())
                : null;
    }

    /**
     * What the connection told of the database.
     *
     * @param table the name by which all know the table, whatever they call it
     * @param grant the SQL that lets us stand
     * @param writable whether we may already
     */
    private record Found(Dialect dialect, String table, String grant, boolean writable) {}

    /**
     * Connects, finds out what database this is, and sees to its tables.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws dev.bellwether.UnavailableException if the database does not answer
     */
    static SqlLeaseStore open(Source source, SqlConfig config) {
        var session = new SqlConnection(source);
        var faults = new SqlErrors[] {new SqlErrors(source, config)};
        try {
            var found = session.use(source.startPatience(), connection -> {
                var dialect = Dialect.of(connection);
                dialect.requireReachable(connection, source);
                var grant = Tables.grant(connection, dialect, config);
                faults[0] = new SqlErrors(source, config, grant);
                if (dialect == Dialect.POSTGRESQL) {
                    Pooler.requireTransactions(connection, source);
                }
                Tables.require(connection, dialect, config);
                return new Found(
                        dialect,
                        dialect == Dialect.POSTGRESQL ? Tables.qualifiedName(connection, config) : config.table(),
                        grant,
                        Tables.isWritable(connection, dialect, config));
            });
            var store = new SqlLeaseStore(source, config, found);
            store.requests.start();
            return store;
        } catch (SQLException e) {
            throw faults[0].atStart(e);
        } finally {
            session.close();
        }
    }

    @Override
    public String describe() {
        return source.toString();
    }

    @Override
    public boolean setsTokens() {
        return true;
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        if (election.indexOf('\0') >= 0) {
            throw new ElectionException("election name holds U+0000, which no database keeps");
        }
        if (!writable) {
            requireWritable();
        }
    }

    /** What was not allowed when we connected may have been allowed since. */
    private void requireWritable() {
        var session = new SqlConnection(source);
        try {
            session.use(source.startPatience(), connection -> {
                Tables.requireWritable(connection, found.dialect, this.config);
                return true;
            });
            writable = true;
        } catch (SQLException e) {
            if (SqlErrors.kindOf(e) != SqlErrors.Kind.NO_ANSWER) { // else the candidacy tries again by itself
                throw faults.atStart(e);
            }
        } finally {
            session.close();
        }
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        var session = new SqlConnection(source);
        try {
            return session.use(SqlDoctor.patience(), connection -> SqlDoctor.of(source, connection, config, candidacy));
        } catch (SQLException e) {
            throw faults.inOperation(e);
        } finally {
            session.close();
        }
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        return requests.submit(new Request.Acquire(claim, new CompletableFuture<>()));
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        return leases.stream()
                .<CompletionStage<Answer>>map(
                        lease -> requests.submit(new Request.Renew(lease, new CompletableFuture<>())))
                .toList();
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        executor.leaves(claim); // even if the database is never told
        return requests.submit(new Request.Release(claim, new CompletableFuture<>()));
    }

    @Override
    public CompletionStage<View> read(String election) {
        return requests.submit(new Request.Read(election, new CompletableFuture<>()));
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        var watch = watches.add(election, watcher);
        if (listener != null) {
            try {
                listener.start(); // who only asks needs no second connection
            } catch (RuntimeException | Error e) { // the last may find no thread
                watch.close();
                throw e;
            }
        }
        requests.wake();
        return watch;
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return requests.submit(new Request.Command(election, order, System.nanoTime(), new CompletableFuture<>()));
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return requests.submit(
                new Request.Note(election, token, expected, note, System.nanoTime(), new CompletableFuture<>()));
    }

    @Override
    public Optional<String> handOverObjection() {
        return Optional.empty();
    }

    @Override
    public CompletionStage<List<String>> list() {
        return requests.submit(new Request.Names(new CompletableFuture<>()));
    }

    @Override
    public void close() {
        if (listener != null) {
            listener.close();
        }
        requests.close();
    }

    private void lookAfterListener(boolean missed) {
        if (listener != null) {
            listener.lookAfter(missed);
        }
    }

    /** Takes what the listener hears to where it belongs. Called on the listener's thread. */
    private final class AnnouncementReceiver implements PostgresListener.Receiver {
        @Override
        public CompletionStage<Integer> probe() {
            return requests.submit(new Request.Probe(new CompletableFuture<>()));
        }

        @Override
        public void listening() {
            executor.listening(true);
            requests.wake();
        }

        @Override
        public void silenced() {
            executor.listening(false);
            requests.wake();
        }

        @Override
        public void echo() {
            executor.echo();
        }

        @Override
        public boolean starves() {
            return executor.starves();
        }

        @Override
        public void heard(PostgresSeats.Announcement announcement) {
            var own = announcement.announcer().equals(announcer);
            if (watches.heard(announcement.row(), own)) {
                looks.look(announcement.row().election());
            }
        }
    }
}
