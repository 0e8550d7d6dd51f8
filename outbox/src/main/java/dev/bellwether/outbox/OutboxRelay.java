package dev.bellwether.outbox;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.kafka.KafkaElections;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import javax.sql.DataSource;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.jspecify.annotations.Nullable;

/**
 * Publishes the rows of an outbox to Kafka, in order, and deletes them: in each shard while it leads, standing by while another does.
 * Relays of several shards share them: one that leads two more than another gives one up, once in a lease.
 *
 * <p>Thread-safe. Takes two connections of the data source for each shard that it leads, and none for others; three threads likewise.
 * It recovers by itself from any outage of the database and of the brokers, and begins again behind new fences with the first row that
 * is left: so consumers may see a run of records again, never a record before its predecessor in the same key.
 */
public final class OutboxRelay implements AutoCloseable {
    private static final AtomicLong SERIAL = new AtomicLong();

    private final Elections elections;
    private final boolean ours;
    private final List<Shard> shards = new ArrayList<>();
    private final List<Candidacy> candidacies = new ArrayList<>();
    private @Nullable Balancer balancer;

    private OutboxRelay(Elections elections, boolean ours) {
        this.elections = elections;
        this.ours = ours;
    }

    /**
     * Begins, with elections on the brokers that the records go to: nothing else is needed.
     *
     * @throws dev.bellwether.UnavailableException if the brokers do not answer
     */
    public static OutboxRelay start(DataSource database, RelayConfig config) {
        var elections = KafkaElections.using(KafkaTopics.common(config.producer()));
        return start(database, config, elections, true, KafkaProducer::new);
    }

    /** Begins, with elections held anywhere; they stay open when the relay is closed. */
    public static OutboxRelay start(DataSource database, RelayConfig config, Elections elections) {
        return start(database, config, elections, false, KafkaProducer::new);
    }

    static OutboxRelay start(
            DataSource database,
            RelayConfig config,
            Elections elections,
            boolean ours,
            Function<Map<String, Object>, Producer<byte[], byte[]>> producers) {
        var relay = new OutboxRelay(elections, ours);
        try {
            var name = config.candidate().orElseGet(OutboxRelay::nameOfOurs);
            for (var number = 0; number < config.shards(); number++) {
                relay.stand(number, name, config, database, producers);
            }
            if (config.shards() > 1) {
                relay.balancer = new Balancer(elections, config, name).start();
            }
            return relay;
        } catch (RuntimeException e) {
            relay.close();
            throw e;
        }
    }

    private void stand(
            int number,
            String candidate,
            RelayConfig config,
            DataSource database,
            Function<Map<String, Object>, Producer<byte[], byte[]>> producers) {
        var judge =
                new Judge(new KafkaTopics(config.producer()), config.haltRetry().toNanos(), System::nanoTime);
        var seat = elections.election(config.seat(number));
        var shard = new Shard(number, config, database, producers, judge, candidate, seat);
        var settings = CandidacyConfig.builder()
                .lease(config.lease())
                .candidate(candidate)
                .listener(shard::heard)
                .build();
        shards.add(shard);
        var candidacy = elections.stand(config.seat(number), settings);
        candidacies.add(candidacy);
        candidacy.whileLeading(shard::lead);
    }

    /** Looks for rows now, rather than at the next poll: to be called after a commit in this process. Cheap. */
    public void poke() {
        shards.forEach(Shard::poke);
    }

    /** Returns figures of the shards, in their order. */
    public List<RelayStats> stats() {
        return shards.stream().map(Shard::stats).toList();
    }

    /** Returns whether this relay leads all its shards. */
    public boolean isLeader() {
        return candidacies.stream().allMatch(Candidacy::isLeader);
    }

    /**
     * Ends it: what is being sent is committed and deleted, and the shards are handed over. Waits no longer than a candidacy takes to
     * close: a fifth of the lease and two renewals.
     */
    @Override
    public void close() {
        if (balancer != null) {
            balancer.end();
        }
        shards.forEach(Shard::stop);
        candidacies.forEach(Candidacy::resign);
        candidacies.forEach(Candidacy::close);
        if (ours) {
            elections.close();
        }
    }

    private static String nameOfOurs() {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            host = "localhost";
        }
        return host + '_' + ProcessHandle.current().pid() + '_' + SERIAL.incrementAndGet();
    }
}
