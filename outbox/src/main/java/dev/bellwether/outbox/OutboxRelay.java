package dev.bellwether.outbox;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.kafka.KafkaElections;
import dev.bellwether.spi.BackendThread;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes the rows of an outbox to Kafka, in order, and deletes them: in each shard while it leads, standing by while
 * another does. Several relays share the shards: one that leads two more than another gives one up, once in a lease.
 *
 * <p>Thread-safe. For each shard that it leads, it takes two connections of the data source and three threads; for
 * other shards a connection for a moment now and then. On PostgreSQL it takes one more connection and thread, to
 * receive the writers' notifications while it leads any shard ({@link RelayConfig.Builder#wakeUp}). It recovers by
 * itself from any outage of the database and of the brokers, and begins again behind new fences with the first row that
 * is left. So consumers may see a run of records again, never a record before its predecessor in the same key; readers
 * of committed records see each once, if the relays keep progress ({@link RelayConfig.Builder#once}).
 */
public final class OutboxRelay implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OutboxRelay.class);
    /** How long a start waits for brokers: in that time an error in the settings is thrown, later it is an event. */
    private static final long FIRST_MILLIS = 3_000;

    private final RelayConfig config;
    private final String name;
    private final boolean ours;
    private final List<Shard> shards = new ArrayList<>();
    private final List<Candidacy> candidacies = new CopyOnWriteArrayList<>();
    private final Standby standby;
    private final WakeUpListener listener;
    private final StateReader states;
    private volatile boolean closed;
    private @Nullable Elections elections;
    private @Nullable Balancer balancer;
    private @Nullable Thread connector;

    private OutboxRelay(
            DataSource database,
            RelayConfig config,
            boolean ours,
            Function<Map<String, Object>, Producer<byte[], byte[]>> producers) {
        ProducerSettings.check(config); // before a thread begins, which would try again and again
        this.config = config;
        this.ours = ours;
        listener = new WakeUpListener(database, config);
        name = config.candidate().orElseGet(CandidacyConfig.builder().build()::candidateOrNew);
        for (var number = 0; number < config.shards(); number++) {
            var judge = new PoisonDetector(
                    new KafkaTopics(config), config.haltRetry().toNanos(), System::nanoTime);
            shards.add(new Shard(number, config, database, producers, judge, listener, name));
        }
        standby = new Standby(config.name(), shards, config.lease());
        states = new StateReader(config, shards.get(0)::lend);
    }

    /**
     * Begins, with elections on the brokers that the records go to: nothing else is needed. Returns after three seconds
     * at most. If the brokers do not answer, it waits for them in the background, and sends {@link RelayEvent.Waiting}.
     *
     * @throws dev.bellwether.ElectionException if a property is wrong, or a right is missing
     */
    public static OutboxRelay start(DataSource database, RelayConfig config) {
        return start(database, config, () -> KafkaElections.using(forElections(config.producer())));
    }

    /** A producer knows nothing of what {@link KafkaElections} would take for its own, such as the leader topic. */
    private static Map<String, Object> forElections(Map<String, Object> producer) {
        var properties = KafkaTopics.common(producer);
        properties.keySet().removeAll(KafkaElections.ownProperties());
        return properties;
    }

    /**
     * Begins, with elections held anywhere; they stay open when the relay is closed.
     *
     * @throws dev.bellwether.ElectionException if a property is wrong, or a right is missing
     */
    public static OutboxRelay start(DataSource database, RelayConfig config, Elections elections) {
        return start(database, config, elections, false, KafkaProducer::new);
    }

    static OutboxRelay start(
            DataSource database,
            RelayConfig config,
            Elections elections,
            boolean ours,
            Function<Map<String, Object>, Producer<byte[], byte[]>> producers) {
        var relay = new OutboxRelay(database, config, ours, producers);
        try {
            relay.stand(elections);
            return relay;
        } catch (RuntimeException | Error e) {
            relay.close();
            throw e;
        }
    }

    static OutboxRelay start(DataSource database, RelayConfig config, Supplier<Elections> connecting) {
        var relay = new OutboxRelay(database, config, true, KafkaProducer::new);
        var first = new CompletableFuture<@Nullable Void>();
        var connector = BackendThread.of(
                "outbox." + config.name() + "-connect",
                () -> relay.connect(connecting, first),
                death -> relay.cannotStand(death, first));
        relay.connector = connector;
        connector.start();
        try {
            first.completeOnTimeout(null, FIRST_MILLIS, TimeUnit.MILLISECONDS).get();
        } catch (InterruptedException e) {
            first.complete(null); // what fails from now on is an event
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            relay.close();
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e.getCause());
        }
        return relay;
    }

    /** Until it has worked. On a thread of its own. */
    private void connect(Supplier<Elections> connecting, CompletableFuture<@Nullable Void> first) {
        var pause = config.backoff();
        var attempts = 0;
        while (!closed) {
            try {
                stand(connecting.get());
                if (attempts > 0) {
                    LOG.info("outbox {}: the brokers answer. This relay stands for its shards.", config.name());
                }
                first.complete(null);
                return;
            } catch (UnavailableException e) {
                if (closed) {
                    return;
                }
                if (attempts++ == 0) {
                    LOG.warn(
                            "outbox {}: no election can be held ({}). Nothing is published from here until the"
                                    + " brokers answer. Trying again after pauses of up to {} s.",
                            config.name(),
                            e.getMessage(),
                            config.maxBackoff().toSeconds());
                }
                shards.forEach(shard -> shard.emit(new RelayEvent.Waiting(shard.number(), e)));
                first.complete(null);
                BackendThread.pause(pause.toNanos()); // close interrupts it
                pause = pause.multipliedBy(2).compareTo(config.maxBackoff()) < 0
                        ? pause.multipliedBy(2)
                        : config.maxBackoff();
            } catch (RuntimeException e) { // to wait fixes no setting, and gives no right
                cannotStand(e, first);
                return;
            }
        }
    }

    private void cannotStand(Throwable e, CompletableFuture<@Nullable Void> first) {
        if (first.completeExceptionally(e) || closed) {
            return;
        }
        LOG.error(
                "outbox {}: this relay cannot stand for its shards. It publishes nothing. Start it again when the cause"
                        + " is fixed.",
                config.name(),
                e);
        var cause = e instanceof ElectionException known ? known : new ElectionException(e.toString(), e);
        shards.forEach(shard -> shard.emit(new RelayEvent.CandidacyFailed(shard.number(), cause)));
    }

    private synchronized void stand(Elections connected) {
        elections = connected;
        if (closed) {
            if (ours) {
                connected.close();
            }
            return;
        }
        try {
            standForAll(connected);
        } catch (RuntimeException | Error e) { // or it would lead shards of which it says that it does not
            leave();
            throw e;
        }
    }

    private void standForAll(Elections connected) {
        for (var shard : shards) {
            var seat = config.seat(shard.number());
            shard.seat(connected.election(seat));
            var candidacy = connected.stand(
                    seat,
                    CandidacyConfig.builder()
                            .lease(config.lease())
                            .candidate(name)
                            .listener(shard::heard)
                            .build());
            candidacies.add(candidacy);
            candidacy.whileLeading(shard::lead);
        }
        standby.start();
        if (config.shards() > 1) {
            balancer = new Balancer(connected, config, name).start();
        }
    }

    private synchronized void leave() {
        candidacies.forEach(Candidacy::resign);
        candidacies.forEach(Candidacy::close);
        candidacies.clear();
        if (ours && elections != null) {
            elections.close();
        }
        elections = null;
    }

    /** Returns the name of the outbox. */
    public String outbox() {
        return config.name();
    }

    /**
     * Looks for rows now, rather than at the next poll: call it after a commit in this process. Never blocks, and does
     * nothing after {@link #close}.
     */
    public void poke() {
        shards.forEach(Shard::poke);
    }

    /** Returns figures of the shards, in their order. */
    public List<RelayStats> stats() {
        return shards.stream().map(Shard::stats).toList();
    }

    /**
     * Returns the state of the whole outbox, whichever relay leads: relays that stand by return it, too. It is read in
     * the background, each {@link RelayConfig.Builder#stateInterval}, from the first call on; so this never waits.
     * Empty until it has been read, and while the database has not answered for three such intervals. Its cost is
     * bounded, as that of {@link OutboxAdmin#quickState}; each reading takes a connection of the data source for a
     * moment.
     */
    public Optional<OutboxAdmin.State> state() {
        return states.latest();
    }

    /** Returns whether this relay leads all its shards. */
    public boolean isLeader() {
        var all = List.copyOf(candidacies);
        return all.size() == shards.size() && all.stream().allMatch(Candidacy::isLeader);
    }

    /**
     * Ends it: what is being sent is committed and deleted, and the shards are handed over. Waits no longer than a
     * candidacy takes to close: a fifth of the lease and two renewals. Idempotent.
     */
    @Override
    public void close() {
        closed = true;
        if (connector != null) {
            connector.interrupt();
        }
        shards.forEach(Shard::stop);
        listener.close();
        states.end();
        synchronized (this) {
            standby.end();
            if (balancer != null) {
                balancer.end();
            }
            leave();
        }
        listener.join();
    }
}
