package dev.bellwether.outbox;

import dev.bellwether.Candidate;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.Producer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A shard of a relay: what it does while it leads is one session after another. Its methods say who calls them. */
final class Shard {
    private static final Logger LOG = LoggerFactory.getLogger(Shard.class);
    private static final long SLICE_NANOS = 20_000_000;
    private static final Duration LONGEST_RETRY = Duration.ofMinutes(10);

    private final int number;
    private final RelayConfig config;
    private final Borrowing borrowing;
    private final Function<Map<String, Object>, Producer<byte[], byte[]>> producers;
    private final WakeUpListener listener;
    private final Meter meter = new Meter();
    private final PoisonDetector judge;
    private final String relay;
    private volatile @Nullable Election seat;
    private final AtomicReference<@Nullable ShardRun> session = new AtomicReference<>();
    private volatile @Nullable Store store;
    private volatile boolean stopping;
    private volatile boolean leading;
    /** So many rows are to pass before progress is sent along with rows again. */
    private int doubtful;

    private long backoffNanos;
    private RetryPace retries;
    private TransactionSize size;
    private volatile long reachedNanos;
    private final ProgressTopic progress;
    private boolean keepsProgress;
    private boolean hasProgressTopic;
    private volatile Following following;
    private Following served;
    private Following missed; // told that it does not serve our table
    private final BlockedRecords blocked;
    private volatile boolean writesBlocked = true;
    /** The last time that it was tried. */
    private volatile boolean failsToWriteBlocked;

    private volatile boolean led;
    /** When to ask for partitions that have no leader, and for topics that are missing. */
    private Due brokersDue;

    private long epoch;

    /** Who leads, as far as we know, and since when we know it. */
    private record Following(String leader, long sinceNanos) {}

    Shard(
            int number,
            RelayConfig config,
            DataSource database,
            Function<Map<String, Object>, Producer<byte[], byte[]>> producers,
            PoisonDetector judge,
            WakeUpListener listener,
            String relay) {
        this.number = number;
        this.config = config;
        borrowing =
                new Borrowing(database, config.databaseTimeout(), config.seat(number) + "-connect", System::nanoTime);
        blocked = new BlockedRecords(number);
        this.producers = producers;
        this.judge = judge;
        this.listener = listener;
        this.relay = relay;
        following = new Following(relay, System.nanoTime());
        served = following;
        missed = following;
        size = newSize();
        progress = config.progress();
        brokersDue = new Due(config.haltRetry().toNanos());
        retries = newRetries();
    }

    private RetryPace newRetries() {
        return new RetryPace(config.haltRetry().toNanos(), LONGEST_RETRY.toNanos(), System.nanoTime());
    }

    private TransactionSize newSize() {
        return new TransactionSize(
                config.maxTransactionRecords(), ProducerSettings.transactionTimeoutMillis(config) * 1_000_000);
    }

    int number() {
        return number;
    }

    /** Tells where it stands: before anything else that needs the election. */
    void seat(Election election) {
        seat = election;
    }

    RelayConfig config() {
        return config;
    }

    PoisonDetector judge() {
        return judge;
    }

    Meter meter() {
        return meter;
    }

    BlockedRecords blocked() {
        return blocked;
    }

    Store store() {
        var known = store;
        if (known == null) {
            throw new IllegalStateException("no connection yet");
        }
        return known;
    }

    /** Returns what tells a reader of this shard when to look. */
    ReadPace pace(Runnable lookAgain) {
        return new ReadPace(config, number, wakeUps().orElse(null), listener, lookAgain, System::nanoTime);
    }

    private Optional<WakeUpSql> wakeUps() {
        return config.wakeUp() ? store().wakeUps() : Optional.empty();
    }

    /** Lets writers call this reader, if they can. */
    void listen(ReadPace pace) {
        wakeUps().ifPresent(sql -> listener.add(pace, sql));
    }

    /** It is called no more. */
    void deafen(ReadPace pace) {
        listener.remove(pace);
    }

    RelayStats stats() {
        var running = session.get();
        return meter.stats(led, running == null ? new InFlight(0, 0) : running.inFlight(), System.nanoTime());
    }

    void poke() {
        var running = session.get();
        if (running != null) {
            running.poke();
        }
    }

    /** Makes it end soon. */
    void stop() {
        stopping = true;
    }

    void emit(RelayEvent event) {
        try {
            config.listener().accept(event);
        } catch (RuntimeException | Error e) {
            LOG.error("outbox {}: the listener threw for {}", config.name(), event, e);
        }
    }

    /** Hears how leading ends, on the candidacy's thread for events; an orderly end is told when the work has ended. */
    void heard(LeadershipEvent event) {
        if (event instanceof LeadershipEvent.Preparing) {
            return; // what a shard needs it gets when it leads
        }
        led = event instanceof LeadershipEvent.Acquired
                || (event instanceof LeadershipEvent.Following now
                        && now.leader().isPresent());
        if (event instanceof LeadershipEvent.Revoked) {
            awaitWork();
            emit(new RelayEvent.LeaderRevoked(number));
        } else if (event instanceof LeadershipEvent.Fenced) {
            emit(new RelayEvent.LeaderFenced(number));
        } else if (event instanceof LeadershipEvent.Acquired) {
            following = new Following(relay, System.nanoTime());
        } else if (event instanceof LeadershipEvent.Following now) {
            following = new Following(now.leader().orElse(relay), System.nanoTime());
        } else if (event instanceof LeadershipEvent.Ended) {
            LOG.error(
                    "outbox {}: the election of shard {} was ended by an operator. This relay publishes nothing of"
                            + " it any more.",
                    config.name(),
                    number);
            emit(new RelayEvent.ElectionEnded(number));
        } else if (event instanceof LeadershipEvent.Failed failed) {
            LOG.error(
                    "outbox {}: the candidacy for shard {} failed. This relay publishes nothing of it any more."
                            + " Start it again when the cause is fixed.",
                    config.name(),
                    number,
                    failed.error());
            emit(new RelayEvent.CandidacyFailed(number, failed.error()));
        }
    }

    /** We are interrupted half-way through the budget: so is the work, and the end is to be told when it comes. */
    private void awaitWork() {
        var interrupted = false;
        while (leading) {
            try {
                TimeUnit.NANOSECONDS.sleep(SLICE_NANOS / 20);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Publishes while the mandate holds: the task of the candidacy. */
    void lead(Mandate mandate) {
        leading = true;
        try {
            LOG.info("outbox {}: leads shard {} with token {}", config.name(), number, mandate.token());
            emit(new RelayEvent.LeaderAcquired(number, mandate.token()));
            pardon();
            askForLeaders(); // what an earlier mandate has found may be long past
            brokersDue = new Due(config.haltRetry().toNanos());
            writesBlocked = true;
            backoffNanos = 0;
            keepsProgress = config.once();
            hasProgressTopic = false;
            size = newSize();
            reachedNanos = System.nanoTime();
            retries = newRetries();
            while (goesOn(mandate)) {
                session(mandate);
            }
        } finally {
            meter.standBy();
            leading = false;
        }
    }

    private void pardon() {
        judge.pardon();
        blocked.pardon();
    }

    /** Returns whether a partition for which records wait has a leader again. */
    private boolean askForLeaders() {
        var back = judge.isAnyStranded() && judge.leadersAreBack();
        if (back) {
            blocked.keepStranded(judge::isStranded);
        }
        return back;
    }

    private boolean goesOn(Mandate mandate) {
        return mandate.isValid() && !stopping && !Thread.currentThread().isInterrupted();
    }

    private void session(Mandate mandate) {
        size.forget();
        try {
            var opened = open(mandate);
            reached();
            meter.blocked.set(0);
            session.set(opened);
            meter.leading = true;
            epoch = opened.epoch();
            emit(new RelayEvent.LeaderRefreshed(number, epoch));
            run(opened, mandate);
        } catch (HaltedException e) {
            if (!goesOn(mandate)) {
                return; // it is the next leader's to tell
            }
            meter.pause();
            LOG.error("outbox {}: halted by {}: {}", config.name(), e.row().describe(), e.getMessage());
            emit(new RelayEvent.Halted(number, e.row().id(), String.valueOf(e.getMessage())));
            blocked.add(e.row(), OutboxAdmin.Waits.SHARD, String.valueOf(e.getMessage()));
            writeBlockedNow();
            pause(config.haltRetry().toNanos(), mandate);
            pardon();
        } catch (LineStoppedException e) {
            // of a timeout the judge asks the brokers; of anything else it would take the row to be at fault
            if (e.inDoubt() && Verdict.of(e.failure()) != Verdict.TOPIC) {
                doubtful = e.records();
                LOG.debug("outbox {}: sends again, progress last: {}", config.name(), e.getMessage());
            } else if (judge.failed(e)) {
                LOG.info("outbox {}: stopped at {}", config.name(), e.getMessage());
                if (judge.holds(e.row())) {
                    stranded(e.row());
                }
            } else {
                failed(e, mandate);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ProgressRefusedException e) {
            refused(e);
        } catch (Exception e) {
            failed(e, mandate);
        }
    }

    private void refused(ProgressRefusedException e) {
        keepsProgress = false;
        LOG.warn(
                "outbox {}: shard {} cannot keep its progress in topic {}: {}. It continues without it, so readers"
                        + " of committed records may see a run of records again after a failure. Give the relay the"
                        + " rights to create, write, describe and read that topic, or set once(false).",
                config.name(),
                number,
                progress.name(),
                e.getMessage());
        emit(new RelayEvent.ProgressRefused(number, String.valueOf(e.getMessage())));
    }

    private void run(ShardRun opened, Mandate mandate) throws Exception {
        var orderly = false;
        var meterDue = new Due(config.meterInterval().toNanos());
        retries.begins(System.nanoTime());
        try {
            opened.run(() -> {
                if (meterDue.now()) {
                    read();
                }
                var back = brokersDue.now() && (askForLeaders() || judge.topicsAreBack());
                var retry = retries.isDue(judge.holdsAny(), System.nanoTime());
                return goesOn(mandate) && !back && !retry;
            });
            orderly = true;
            if (judge.holdsAny() && goesOn(mandate)) {
                pardon();
            }
        } finally {
            session.set(null);
            if (opened.close(orderly, config.lease().toNanos() / 20)) {
                meter.rewinds.incrementAndGet();
            }
        }
    }

    private void stranded(Row row) {
        var reason = "its partition has no leader";
        blocked.add(row, OutboxAdmin.Waits.PARTITION, reason);
        LOG.warn(
                "outbox {}: {} waits, with everything for that partition of topic {}: {}.  The brokers are asked"
                        + " again every {} s.",
                config.name(),
                row.describe(),
                row.topic(),
                reason,
                config.haltRetry().toSeconds());
        emit(new RelayEvent.KeyBlocked(number, row.id(), reason));
    }

    /** Writes down what waits, for those who look; returns whether it did. That it cannot stops nothing. */
    boolean writeBlocked(Connection connection, long writing, List<OutboxAdmin.BlockedRecord> now) {
        if (!writesBlocked) {
            return false;
        }
        try {
            store().writeBlocked(connection, number, writing, now);
            failsToWriteBlocked = false;
            return true;
        } catch (SQLException e) {
            if (!OutboxSchema.isTableOrRightMissing(e)) {
                if (!failsToWriteBlocked) {
                    LOG.warn(
                            "outbox {}: which records of shard {} wait could not be written into table {} ({}). The"
                                    + " relay publishes and blocks as usual, and tries that again.",
                            config.name(),
                            number,
                            config.table().blocked(),
                            e.getMessage());
                }
                failsToWriteBlocked = true;
                return false;
            }
            writesBlocked = false; // until we lead again
            LOG.warn(
                    "outbox {}: which records of shard {} wait cannot be written into table {} ({}). The relay"
                            + " publishes and blocks as usual, but nobody can see it there. Make the table with"
                            + " bellwether outbox"
                            + " migrate, and"
                            + " give the relay SELECT, INSERT and DELETE on it.",
                    config.name(),
                    number,
                    config.table().blocked(),
                    e.getMessage());
            return false;
        }
    }

    /** The run has ended, and its connections with it. */
    private void writeBlockedNow() {
        try (var lent = lend()) {
            writeBlocked(lent.connection(), epoch, blocked.list());
        } catch (SQLException | RuntimeException e) {
            LOG.debug("outbox {}: what halted shard {} could not be recorded", config.name(), number, e);
        }
    }

    private void read() {
        if (meter.read(System.nanoTime())) {
            emit(new RelayEvent.MeterRead(number, stats()));
        }
    }

    private void failed(Exception e, Mandate mandate) {
        if (!goesOn(mandate)) {
            return;
        }
        meter.pause();
        LOG.warn("outbox {}: shard {} begins again after {}", config.name(), number, e.toString());
        LOG.debug("which came from", e);
        emit(new RelayEvent.Faulted(number, e));
        size.failed();
        hasProgressTopic = false; // it may be gone
        backoffNanos = Math.min(
                config.maxBackoff().toNanos(), Math.max(config.backoff().toNanos(), 2 * backoffNanos));
        if (System.nanoTime() - reachedNanos > config.standDownAfter().toNanos()) {
            standDown(e);
        }
        pause(backoffNanos, mandate);
    }

    /** The database has answered. From any thread. */
    void reached() {
        reachedNanos = System.nanoTime();
    }

    /**
     * Looks whether the relay that leads has made our table its own: one that serves another table under the same name
     * keeps ours from being served at all, and nobody would know. On the thread of the {@link Standby}.
     */
    void lookAfterLeader() {
        var now = following;
        if (now.equals(served) || now.leader().equals(relay)) {
            return;
        }
        var patience = config.standDownAfter().plus(config.lease().multipliedBy(2));
        boolean serves;
        try (var lent = lend()) {
            var connection = lent.connection();
            var tables = Store.of(connection, config.table());
            serves = OutboxSchema.exists(connection, config.table().relay())
                    && tables.tenant(connection, number)
                            .filter(now.leader()::equals)
                            .isPresent();
        } catch (SQLException | RuntimeException e) {
            LOG.debug("outbox {}: it is not known who serves shard {}", config.name(), number, e);
            return;
        }
        if (serves) {
            var wasMissed = !missed.equals(served);
            served = now;
            missed = now;
            if (wasMissed) {
                LOG.info(
                        "outbox {}: {} serves shard {} of table {}",
                        config.name(),
                        now.leader(),
                        number,
                        config.table().name());
                emit(new RelayEvent.Served(number, now.leader()));
            }
        } else if (!now.equals(missed) && System.nanoTime() - now.sinceNanos() > patience.toNanos()) {
            missed = now; // told once
            LOG.error(
                    "outbox {}: {} leads shard {}, and has not touched table {} for {} s. It serves another table"
                            + " under the same name, or does not reach this database. Nothing is published from this"
                            + " table. Give each table a name of its own.",
                    config.name(),
                    now.leader(),
                    number,
                    config.table().name(),
                    patience.toSeconds());
            emit(new RelayEvent.NotServed(number, now.leader()));
        }
    }

    /** Lets somebody else try, who may reach what we do not. */
    private void standDown(Exception cause) {
        reached(); // not again at once, if the order is lost
        var election = seat;
        if (election == null) {
            return;
        }
        try {
            if (election.candidates().stream().map(Candidate::id).allMatch(relay::equals)) {
                return;
            }
            LOG.warn(
                    "outbox {}: shard {} could not begin for {} s, the last time because of {}. This relay stands"
                            + " down, so that another may try.",
                    config.name(),
                    number,
                    config.standDownAfter().toSeconds(),
                    cause.toString());
            emit(new RelayEvent.StoodDown(number, cause));
            election.standDown();
        } catch (ElectionException e) {
            LOG.debug("outbox {}: shard {} could not stand down", config.name(), number, e);
        }
    }

    /** Returns what tells how many records a transaction may have. For the session, on its thread. */
    TransactionSize size() {
        return size;
    }

    /** A transaction of so many records went through. */
    void succeeded(int count, long nanos) {
        backoffNanos = 0;
        doubtful = Math.max(0, doubtful - count);
        size.succeeded(count, nanos);
    }

    /**
     * Returns whether progress is to be sent when all rows of its transaction are in the log, and not along with them,
     * which is quicker: since one failed of which nobody can tell whether a row was at fault, until as many have
     * passed.
     */
    boolean isCareful() {
        return doubtful > 0;
    }

    private void pause(long nanos, Mandate mandate) {
        var until = System.nanoTime() + nanos;
        while (System.nanoTime() - until < 0 && goesOn(mandate)) {
            LockSupport.parkNanos(SLICE_NANOS);
        }
    }

    /*
     * The order matters. First the fences in Kafka: from here on nothing of an earlier leader is appended. Then the one
     * in the database, which waits for a delete of that leader's that is under way, and lets none begin. Then what that
     * leader published and did not delete is deleted, and only then the table is read: it has everything that is
     * missing in Kafka, and it will not shrink but by us.
     */
    private ShardRun open(Mandate mandate)
            throws SQLException, DeposedException, InterruptedException, ProgressRefusedException {
        var lines = lines();
        LentConnection reading = null;
        LentConnection deleting = null;
        try {
            lines.open();
            mandate.ensure(); // one that comes late has fenced its successor, which will begin again
            reading = connect(false);
            deleting = connect(true);
            store().requirePrimary(reading.connection());
            var deletes = deleting.connection();
            var writers = store().openWriters(reading.connection(), deletes);
            // the epoch, and what was deleted before, are to outlast whatever is published from now on
            store().durable(deletes, true);
            var claim = new Store.Claim(config.name(), number, config.shards(), relay, keepsProgress);
            var tenancy = store().acquire(deletes, claim);
            var start = keepsProgress ? recover(deletes, tenancy) : null;
            store().durable(deletes, false);
            return new ShardRun(this, lines, reading, deleting, writers, tenancy, start);
        } catch (SQLException
                | DeposedException
                | InterruptedException
                | ProgressRefusedException
                | RuntimeException
                | Error e) { // the last may come again and again
            lines.close(false, 0);
            giveBack(reading);
            giveBack(deleting);
            throw e;
        }
    }

    /** Returns where we go on, when what was published is deleted. */
    private ProgressTopic.Start recover(Connection deleting, Store.Tenancy tenancy)
            throws SQLException, DeposedException, InterruptedException, ProgressRefusedException {
        try {
            var epoch = tenancy.epoch();
            var before = tenancy.progress();
            var recovered = progress.recover(number, before.number(), hasProgressTopic ? 0 : config.shards());
            var found = recovered.published();
            hasProgressTopic = true;
            var rows = found.believed(before, epoch).delete(store(), deleting, number, epoch);
            var after = found.markAfter(before, epoch);
            if (!after.equals(before) && !store().mark(deleting, number, epoch, after)) {
                throw new DeposedException(number, epoch);
            }
            if (rows > 0) {
                LOG.info("outbox {}: {} rows of shard {} had been published already", config.name(), rows, number);
                emit(new RelayEvent.Recovered(number, rows));
            }
            found.doubt(before, epoch).ifPresent(this::doubted);
            return new ProgressTopic.Start(
                    progress, after.number(), found.baseAfter(before, epoch), recovered.refusesLateCommits());
        } catch (ExecutionException | TimeoutException | RuntimeException e) {
            ProgressRefusedException.throwIf(e);
            throw e instanceof RuntimeException known
                    ? known
                    : new IllegalStateException("what earlier leaders have published is not known: " + e, e);
        }
    }

    private void doubted(String reason) {
        LOG.warn(
                "outbox {}: shard {}, topic {}: {}. Everything in the table is published, so readers of committed"
                        + " records may see a run of records again.",
                config.name(),
                number,
                progress.name(),
                reason);
        emit(new RelayEvent.ProgressDoubted(number, reason));
    }

    private AlternatingSenders lines() {
        var ids = config.transactionalIds(number);
        var one = line(ids.get(0));
        try {
            return new AlternatingSenders(config.seat(number), one, line(ids.get(1)));
        } catch (RuntimeException | Error e) {
            one.close(false);
            throw e;
        }
    }

    private TransactionalSender line(String transactionalId) {
        return new TransactionalSender(
                producers.apply(ProducerSettings.of(config, transactionalId)), config.eventIdHeader());
    }

    private LentConnection connect(boolean deletes) throws SQLException {
        var lent = lend();
        var connection = lent.connection();
        var known = store;
        try {
            if (known == null) {
                known = Store.of(connection, config.table()).in(config.form());
                if (config.createTables()) {
                    OutboxSchema.create(connection, known);
                }
            }
            if (!deletes) {
                known = asFound(connection, known);
                store = known;
            }
            lent.prepare(known, deletes);
            return lent;
        } catch (SQLException | RuntimeException | Error e) {
            lent.close();
            throw e;
        }
    }

    /** The table may have got another form since. */
    private Store asFound(Connection connection, Store before) throws SQLException {
        var found = before.asFound(connection);
        if (store == null && found.form() != config.form() && config.form() == OutboxForm.ROTATED) {
            LOG.warn(
                    "outbox {}: table {} is there already, and plain; it stays so. `bellwether outbox migrate "
                            + "--to rotated` gives"
                            + " it the form that this relay is set to.",
                    config.name(),
                    config.table().name());
        }
        return found;
    }

    /** Returns a connection of the user's, who gets it back when it is closed. */
    LentConnection lend() throws SQLException {
        return LentConnection.of(borrow(), config.table(), config.databaseTimeout());
    }

    /** Waits for a connection no longer than for an answer. */
    private Connection borrow() throws SQLException {
        listener.borrows();
        var success = false;
        try {
            var connection = borrowing.borrow();
            success = true;
            return connection;
        } finally {
            listener.borrowed(success);
        }
    }

    private static void giveBack(@Nullable LentConnection lent) {
        if (lent != null) {
            lent.close();
        }
    }

    /** Something that is due at intervals. */
    private static final class Due {
        private final long interval;
        private long next;

        Due(long interval) {
            this.interval = interval;
            next = System.nanoTime() + interval;
        }

        boolean now() {
            var now = System.nanoTime();
            if (now - next < 0) {
                return false;
            }
            next = now + interval;
            return true;
        }
    }
}
