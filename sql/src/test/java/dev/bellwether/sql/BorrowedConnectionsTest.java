package dev.bellwether.sql;

import static dev.bellwether.fixtures.Sql.execute;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.fixtures.LendingDataSource;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Lease;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** What becomes of connections that are lent to us, and of us where there are few. */
class BorrowedConnectionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LEASE = Duration.ofSeconds(10); // a busy machine does not cost it
    /** One that could not renew would have lost its mandate by then. */
    private static final Duration LONG_ENOUGH = LEASE.multipliedBy(3).dividedBy(2);

    private static final Duration LONG = Duration.ofMinutes(5);

    private final String election = "borrowed-" + UUID.randomUUID();
    private final String table =
            "b" + UUID.randomUUID().toString().replace("-", "").substring(0, 12);

    static Stream<String> servers() {
        return Stream.of(
                PostgresServer.shared().uri(),
                MysqlFamilyServer.shared(Kind.MARIADB_PLAIN).uri(),
                MysqlFamilyServer.shared(Kind.MYSQL).uri());
    }

    @ParameterizedTest
    @MethodSource("servers")
    void aConnectionGoesBackAsItCameThoughWhatWasDoneOnItFailed(String uri) throws Exception {
        var config = SqlConfig.builder().table(table).listen(false).build();
        try (var one = new OneConnection(uri)) {
            execute(
                    one.connection,
                    uri.startsWith("jdbc:postgresql:")
                            ? "SET lock_timeout = 7654"
                            : "SET SESSION lock_wait_timeout = 7654");
            one.connection.setAutoCommit(false);
            one.connection.setNetworkTimeout(Runnable::run, 54_321);
            var settings = settings(one.connection);
            var store = SqlLeaseStore.open(Source.of(one), config);
            try {
                var claim = claim("first");
                assertThat(store.acquire(claim).toCompletableFuture().join().granted())
                        .isTrue();
                Eventually.eventually("it is given back", PATIENCE, () -> one.lent.get() == 0);
                assertThat(settings(one.connection)).isEqualTo(settings);
                execute(uri, "DROP TABLE " + table);
                assertThatThrownBy(() -> store.renew(List.of(new Lease(claim, 1, LONG)))
                                .get(0)
                                .toCompletableFuture()
                                .join())
                        .isNotNull();
                Eventually.eventually("it is given back", PATIENCE, () -> one.lent.get() == 0);
                assertThat(settings(one.connection)).isEqualTo(settings);
            } finally {
                store.close();
            }
        }
    }

    /** As where an administrator ends a statement by which a transaction begins. */
    @Test
    void aConnectionOnWhichNoTransactionCouldBeginGoesBackAsItCame() throws Exception {
        goesBackAsItCame(PostgresServer.shared().uri(), true, sql -> {
            if (sql.contains("idle_in_transaction_session_timeout")) {
                throw new SQLException("pretended: canceled", "57014");
            }
        });
    }

    /** As where an administrator ends the statement that sets it, for a transaction or for what comes before. */
    @ParameterizedTest
    @MethodSource("servers")
    void aConnectionWhoseAutoCommitCouldNotBeSetGoesBackAsItCame(String uri) throws Exception {
        for (var commits : List.of(true, false)) {
            var once = new AtomicBoolean(true);
            goesBackAsItCame(uri, commits, what -> {
                if (what.equals("auto-commit " + !commits) && once.getAndSet(false)) {
                    throw new SQLException("pretended: interrupted", "70100", 1317);
                }
            });
        }
    }

    /** As without memory: whatever a transaction has set for itself ends with it. */
    @ParameterizedTest
    @MethodSource("servers")
    void aConnectionGoesBackAsItCameThoughAnErrorEndedATransaction(String uri) throws Exception {
        goesBackAsItCame(uri, true, sql -> {
            if (sql.contains("INSERT") && sql.contains(table + "_candidate")) {
                throw new NoClassDefFoundError("pretended");
            }
        });
    }

    private void goesBackAsItCame(String uri, boolean commits, Fault fault) throws Exception {
        var config = SqlConfig.builder().table(table).listen(false).build();
        try (var one = new OneConnection(uri)) {
            one.connection.setAutoCommit(commits);
            var settings = settings(one.connection);
            var store = SqlLeaseStore.open(Source.of(one), config);
            try {
                one.fault.set(fault);
                assertThat(store.acquire(claim("first")).toCompletableFuture()).failsWithin(PATIENCE);
                Eventually.eventually("it is given back", PATIENCE, () -> one.lent.get() == 0);
                assertThat(settings(one.connection)).isEqualTo(settings);
            } finally {
                store.close();
            }
        }
    }

    /** As a server on standby refuses it. */
    @Test
    void aConnectionOnWhichNobodyMayListenGoesBackAsItCame() throws Exception {
        try (var one = new OneConnection(PostgresServer.shared().uri())) {
            one.connection.setAutoCommit(false);
            one.connection.setNetworkTimeout(Runnable::run, 54_321);
            var settings = settings(one.connection);
            var refused = new AtomicInteger();
            var listener = new PostgresListener(Source.of(one), "no such channel", "nobody", new Silenced(refused));
            listener.start();
            Eventually.eventually("it is refused", PATIENCE, () -> refused.get() > 0);
            listener.close();
            assertThat(settings(one.connection)).isEqualTo(settings);
        }
    }

    /** As one that has no class of PostgreSQL's own driver: with another driver, that need not be there. */
    @Test
    void aDriverThatTellsOfNoNoticesIsNotAskedForThemAllTheTime() {
        var opened = new AtomicInteger();
        var connection = (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "isWrapperFor", "unwrap" -> throw new NoClassDefFoundError("org/postgresql/PGConnection");
                    case "getAutoCommit" -> true;
                    case "getNetworkTimeout" -> 0;
                    case "equals" -> proxy == arguments[0];
                    case "createStatement" -> throw new SQLException("pretended: no UNLISTEN");
                    default -> null;
                });
        var silenced = new AtomicInteger();
        var source = Source.of(new Lending(() -> {
            opened.incrementAndGet();
            return connection;
        }));
        var listener = new PostgresListener(source, "channel", "nobody", new Silenced(silenced));
        listener.start();
        try {
            Eventually.eventually("it has tried", PATIENCE, () -> silenced.get() > 0);
            Eventually.throughout("and waits", Duration.ofSeconds(1), () -> opened.get() == 1);
        } finally {
            listener.close();
        }
    }

    @Test
    void theDoctorKnowsThatADriverTellsOfNoNotices() throws Exception {
        try (var one = new OneConnection(PostgresServer.shared().uri())) {
            var other = new Lending(() -> (Connection) Proxy.newProxyInstance(
                    Connection.class.getClassLoader(),
                    new Class<?>[] {Connection.class},
                    (proxy, method, arguments) -> {
                        try {
                            return method.getName().equals("isWrapperFor")
                                    ? (Object) false
                                    : method.invoke(one.connection, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    }));
            var findings = SqlDoctor.of(
                    Source.of(other), other.getConnection(), SqlConfig.defaults(), CandidacyConfig.defaults());
            assertThat(findings).extracting(Finding::says).anyMatch(says -> says.startsWith("standbys poll, every"));
        }
    }

    /** Counts how often announcements do not arrive. */
    private record Silenced(AtomicInteger times) implements PostgresListener.Receiver {
        @Override
        public CompletionStage<Integer> probe() {
            return CompletableFuture.completedFuture(0);
        }

        @Override
        public void listening() {}

        @Override
        public void silenced() {
            times.incrementAndGet();
        }

        @Override
        public void echo() {}

        @Override
        public boolean starves() {
            return false;
        }

        @Override
        public void heard(PostgresSeats.Announcement announcement) {}
    }

    /** Then nobody is lent one, even if another is given up; and for a minute nobody would hear of a change. */
    @Test
    void theListenerDoesNotGiveItsConnectionUpWhileTheServerIsSilent() throws Exception {
        var server = PostgresServer.shared();
        try (var link = FaultProxy.to("127.0.0.1", server.port());
                var statements = server.connect()) {
            var hears = new Hearing(statements, "c" + table);
            var lends =
                    new Lending(() -> DriverManager.getConnection(PostgresServer.uri(link.port()) + "&loginTimeout=2"));
            var listener = new PostgresListener(Source.of(lends), "c" + table, "us", hears);
            listener.start();
            try {
                Eventually.eventually("it listens", PATIENCE, () -> hears.begun.get() == 1);
                link.cut();
                hears.starves.set(true);
                Eventually.eventually("it has noticed", PATIENCE, () -> hears.ended.get() > 0);
                hears.starves.set(false);
                link.heal();
                Eventually.eventually("it listens again", Duration.ofSeconds(40), () -> hears.begun.get() == 2);
            } finally {
                link.heal();
                listener.close();
            }
        }
    }

    /** As where thousands of claims are before it. That says nothing of notices, and of no pooler. */
    @Test
    void theListenerTriesAgainSoonWhileItsProbesAreNotSent() throws Exception {
        var server = PostgresServer.shared();
        try (var statements = server.connect()) {
            var hears = new Hearing(statements, "c" + table);
            hears.unsent.set(3);
            var lends = new Lending(() -> DriverManager.getConnection(server.uri()));
            var listener = new PostgresListener(Source.of(lends), "c" + table, "us", hears);
            listener.start();
            try {
                Eventually.eventually("it listens", Duration.ofSeconds(40), () -> hears.begun.get() == 1);
            } finally {
                listener.close();
            }
        }
    }

    /** As where the network falls silent within a message: the driver waits for the rest of it without a limit. */
    @Test
    void aListenerThatHangsInTheDriverConnectsAgain() throws Exception {
        listensAgain(real -> real);
    }

    /** It cannot miss anything yet. */
    @Test
    void aListenerThatHangsInTheDriverBeforeItHasHeardItsProbeConnectsAgain() throws Exception {
        var waits = new AtomicInteger();
        var source = new Lending(() -> {
            var real = DriverManager.getConnection(PostgresServer.shared().uri());
            var driver = real.unwrap(PGConnection.class);
            var aborted = new CompletableFuture<Boolean>();
            var hears = proxy(PGConnection.class, driver, (method, arguments) -> {
                if (method.equals("getNotifications") && waits.incrementAndGet() == 1) {
                    aborted.join();
                    throw new SQLException("pretended: aborted", "08006");
                }
                return null;
            });
            return (Connection) proxy(Connection.class, real, (method, arguments) -> {
                if (method.equals("abort")) {
                    aborted.complete(true);
                }
                return method.equals("unwrap") ? hears : null;
            });
        });
        var config = SqlConfig.builder().table(table).build();
        try (var store = SqlLeaseStore.open(Source.of(source), config);
                var watch = store.watch(election, view -> {})) {
            assertThat(watch).isNotNull();
            Eventually.eventually("it tries again", Duration.ofSeconds(40), () -> waits.get() > 1);
        }
    }

    /** It is the thread of the statements that notices: what it serves must not fail with that. */
    @Test
    void aListeningConnectionWhosePoolCannotAbortItHurtsNobodyElse() throws Exception {
        listensAgain(hanging -> (Connection) proxy(Connection.class, hanging, (method, arguments) -> {
            if (method.equals("abort")) {
                hanging.abort(Runnable::run);
                throw new UnsupportedOperationException("pretended: the pool knows no abort");
            }
            return null;
        }));
    }

    /** The first connection hangs, as the pool lends it. */
    private void listensAgain(UnaryOperator<Connection> pool) throws Exception {
        var server = PostgresServer.shared();
        try (var statements = server.connect()) {
            var hears = new Hearing(statements, "c" + table);
            var opened = new AtomicInteger();
            var lends = new Lending(() -> {
                var real = DriverManager.getConnection(server.uri());
                return opened.getAndIncrement() == 0 ? pool.apply(hanging(real)) : real;
            });
            var listener = new PostgresListener(Source.of(lends), "c" + table, "us", hears);
            listener.start();
            try {
                Eventually.eventually("it listens", PATIENCE, () -> hears.begun.get() == 1);
                Eventually.eventually("it listens again", Duration.ofSeconds(40), () -> {
                    listener.lookAfter(true); // as what is announced is missed again and again
                    return hears.begun.get() == 2;
                });
            } finally {
                listener.close();
            }
        }
    }

    /** Returns a connection that tells of the first notice, and then of nothing until it is aborted. */
    private static Connection hanging(Connection real) throws SQLException {
        var first = new AtomicBoolean(true);
        var aborted = new CompletableFuture<Boolean>();
        var driver = real.unwrap(PGConnection.class);
        var hears = (PGConnection) proxy(PGConnection.class, driver, (method, arguments) -> {
            if (!method.equals("getNotifications")) {
                return null;
            }
            if (first.get()) {
                var told = driver.getNotifications((Integer) arguments[0]);
                first.set(told == null || told.length == 0);
                return told == null ? new PGNotification[0] : told;
            }
            aborted.join();
            throw new SQLException("pretended: aborted", "08006");
        });
        return (Connection) proxy(Connection.class, real, (method, arguments) -> {
            if (method.equals("abort")) {
                aborted.complete(true);
            }
            return method.equals("unwrap") ? hears : null;
        });
    }

    /** What is done instead of a method; null where the method itself is to be called. */
    private interface Instead {
        @Nullable
        Object of(String method, Object[] arguments) throws SQLException;
    }

    private static Object proxy(Class<?> face, Object real, Instead instead) {
        return Proxy.newProxyInstance(face.getClassLoader(), new Class<?>[] {face}, (self, method, given) -> {
            var result = instead.of(method.getName(), given == null ? new Object[0] : given);
            try {
                return result == null ? method.invoke(real, given) : result;
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }

    /** Has a probe sent over another connection, and counts how often it begins to hear, and ends. */
    private static final class Hearing implements PostgresListener.Receiver {
        private final Connection statements;
        private final String channel;
        private final AtomicInteger begun = new AtomicInteger();
        private final AtomicInteger ended = new AtomicInteger();
        private final AtomicBoolean starves = new AtomicBoolean();
        /** So many probes are not sent. */
        private final AtomicInteger unsent = new AtomicInteger();

        private Hearing(Connection statements, String channel) {
            this.statements = statements;
            this.channel = channel;
        }

        @Override
        public CompletionStage<Integer> probe() {
            if (unsent.getAndDecrement() > 0) {
                return new CompletableFuture<>();
            }
            try {
                execute(statements, "NOTIFY " + channel + ", 'us'");
                return CompletableFuture.completedFuture(0);
            } catch (SQLException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        @Override
        public void listening() {
            begun.incrementAndGet();
        }

        @Override
        public void silenced() {
            ended.incrementAndGet();
        }

        @Override
        public void echo() {}

        @Override
        public boolean starves() {
            return starves.get();
        }

        @Override
        public void heard(PostgresSeats.Announcement announcement) {}
    }

    @Test
    void theListenerGivesItsConnectionUpBeforeTheStatementsStarve() throws Exception {
        var pooled = new HikariConfig();
        pooled.setJdbcUrl(PostgresServer.shared().uri());
        pooled.setMaximumPoolSize(2);
        try (var pool = new HikariDataSource(pooled);
                var elections = SqlElections.using(pool);
                var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            Eventually.eventually(
                    "one connection listens",
                    PATIENCE,
                    () -> pool.getHikariPoolMXBean().getActiveConnections() == 1);
            try (var busy = pool.getConnection()) {
                assertThat(busy.isValid(1)).isTrue();
                Eventually.throughout("the mandate lives on", LONG_ENOUGH, mandate::isValid);
            }
        }
    }

    @Test
    void aPoolOfOneConnectionIsEnough() throws Exception {
        var pooled = new HikariConfig();
        pooled.setJdbcUrl(PostgresServer.shared().uri());
        pooled.setMaximumPoolSize(1);
        try (var pool = new HikariDataSource(pooled);
                var elections = SqlElections.using(pool);
                var leader = elections.stand(election, CandidacyConfig.ofLease(LEASE))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            Eventually.throughout("the mandate lives on", LONG_ENOUGH, mandate::isValid);
        }
    }

    /** A data source that chooses among others, or is closed, throws what it likes. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoIsRefusedAConnectionDoesNotAskForOneAllTheTime(boolean unchecked) throws Exception {
        var asked = new AtomicInteger();
        var refusing = new AtomicBoolean();
        var pooled = new HikariConfig();
        pooled.setJdbcUrl(PostgresServer.shared().uri());
        pooled.setMaximumPoolSize(4);
        var pool = new HikariDataSource(pooled);
        var source = new Lending(() -> {
            asked.incrementAndGet();
            if (refusing.get() && unchecked) {
                throw new IllegalStateException("pretended: no target");
            }
            if (refusing.get()) {
                throw new SQLException("pretended: no connection", "08001");
            }
            return pool.getConnection();
        });
        var lease = Duration.ofSeconds(2);
        try (pool;
                var elections = SqlElections.using(source, SqlConfig.defaults(), ElectionsConfig.defaults())) {
            var candidacies = new ArrayList<dev.bellwether.Candidacy>();
            for (var i = 0; i < 100; i++) {
                candidacies.add(elections.stand(election + "-" + i, CandidacyConfig.ofLease(lease)));
            }
            for (var candidacy : candidacies) {
                assertThat(candidacy.await(PATIENCE)).isPresent();
            }
            refusing.set(true);
            Eventually.throughout("they lose", lease, () -> true);
            var before = asked.get();
            var began = System.nanoTime();
            Eventually.eventually("they go on asking", PATIENCE, () -> asked.get() - before >= 20);
            var seconds = (System.nanoTime() - began) / 1e9;
            var rate = (asked.get() - before) / seconds;
            System.out.printf("100 candidacies ask a data source that refuses %.1f times a second%n", rate);
            assertThat(rate).as("tries a second").isBetween(1.0, 12.0);
            assertThatThrownBy(() -> elections.election(election).leader()).isInstanceOf(UnavailableException.class);
            refusing.set(false);
            for (var candidacy : candidacies) {
                assertThat(candidacy.await(PATIENCE)).isPresent();
            }
        }
    }

    /** A pool in which one has to wait would refuse each connection, as long as the queue is never empty. */
    @Test
    void anInterruptOfSomebodyElsesIsForgottenBeforeTheNextConnectionIsAskedFor() throws Exception {
        var interrupted = new ArrayList<Boolean>();
        var next = new CompletableFuture<Object>();
        var opened = new AtomicReference<SqlLeaseStore>();
        var source = new Lending(() -> {
            var store = opened.get();
            if (store != null) {
                interrupted.add(Thread.currentThread().isInterrupted());
                if (interrupted.size() == 1) {
                    store.list().thenAccept(next::complete);
                    Thread.currentThread().interrupt();
                }
            }
            return DriverManager.getConnection("jdbc:h2:mem:" + table + ";DB_CLOSE_DELAY=-1");
        });
        try (var store = SqlLeaseStore.open(Source.of(source), SqlConfig.defaults())) {
            opened.set(store);
            store.list().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            next.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(interrupted).containsExactly(false, false);
        }
    }

    /** The state of a connection that its next borrower would notice. */
    private static List<String> settings(Connection connection) throws SQLException {
        var settings = new ArrayList<String>();
        settings.add("auto-commit " + connection.getAutoCommit());
        settings.add("network time-out " + connection.getNetworkTimeout());
        settings.add("isolation " + connection.getTransactionIsolation());
        var postgres = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
        var sql = postgres
                ? "SELECT current_setting('idle_in_transaction_session_timeout'), current_setting('synchronous_commit'),"
                        + " current_setting('lock_timeout')"
                : "SELECT @@SESSION.wait_timeout, @@SESSION.net_read_timeout, @@SESSION.net_write_timeout,"
                        + " @@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout"
                        + (isMysql(connection) ? "" : ", @@SESSION.idle_transaction_timeout");
        try (var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            result.next();
            for (var i = 1; i <= result.getMetaData().getColumnCount(); i++) {
                settings.add(result.getMetaData().getColumnLabel(i) + " " + result.getString(i));
            }
        }
        if (!connection.getAutoCommit()) {
            connection.rollback();
        }
        return settings;
    }

    private static boolean isMysql(Connection connection) throws SQLException {
        return connection.getMetaData().getDatabaseProductName().equals("MySQL");
    }

    private Claim claim(String candidate) {
        return new Claim(election, candidate, UUID.randomUUID().toString(), LONG, LONG, 0, Map.of());
    }

    /** Where connections come from. */
    private interface Opener {
        Connection open() throws SQLException;
    }

    /** Fails some statements when they are made, or some settings of auto-commit. */
    private interface Fault {
        void before(String what) throws SQLException;
    }

    /** A pool of one, which does not tidy up behind its borrowers. */
    private static final class OneConnection extends Lending implements AutoCloseable {
        private final Connection connection;
        private final AtomicInteger lent;
        private final AtomicReference<Fault> fault;

        private OneConnection(String uri) throws SQLException {
            this(DriverManager.getConnection(uri), new AtomicInteger(), new AtomicReference<>(sql -> {}));
        }

        private OneConnection(Connection connection, AtomicInteger lent, AtomicReference<Fault> fault) {
            super(() -> {
                lent.incrementAndGet();
                return (Connection) Proxy.newProxyInstance(
                        Connection.class.getClassLoader(),
                        new Class<?>[] {Connection.class},
                        (proxy, method, arguments) -> {
                            if (method.getName().equals("close")) {
                                lent.decrementAndGet();
                                return null;
                            }
                            if (method.getName().equals("prepareStatement")) {
                                requireNonNull(fault.get()).before(String.valueOf(arguments[0]));
                            }
                            if (method.getName().equals("setAutoCommit")) {
                                requireNonNull(fault.get()).before("auto-commit " + arguments[0]);
                            }
                            try {
                                return method.invoke(connection, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
            });
            this.connection = connection;
            this.lent = lent;
            this.fault = fault;
        }

        @Override
        public void close() throws SQLException {
            connection.close();
        }
    }

    /** A data source of so much as we need. */
    private static class Lending extends LendingDataSource {
        private final Opener opener;

        private Lending(Opener opener) {
            this.opener = opener;
        }

        @Override
        public Connection getConnection() throws SQLException {
            return opener.open();
        }
    }
}
