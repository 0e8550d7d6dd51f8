package dev.bellwether.outbox;

import dev.bellwether.Candidate;
import dev.bellwether.Election;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that the relays of a table lead about as many shards each. A thread of its own, which looks once in a
 * lease.
 *
 * <p>A relay that leads at least two shards more than another that stands by gives one up: in order, so that what is in
 * flight is committed and deleted first. It cannot say who takes the seat; but of all that stand, the one who gave it
 * holds back for a lease. So the difference shrinks by one shard in a lease or so, and rests when nobody leads two more
 * than anybody else.
 */
final class Balancer implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Balancer.class);

    private final Elections elections;
    private final List<String> seats;
    private final String relay;
    private final long pauseNanos;
    private final Thread thread;
    private volatile boolean ended;

    Balancer(Elections elections, RelayConfig config, String relay) {
        this.elections = elections;
        this.seats = IntStream.range(0, config.shards()).mapToObj(config::seat).toList();
        this.relay = relay;
        thread = new Thread(this, "outbox-balance-" + relay);
        this.pauseNanos = config.lease().toNanos();
    }

    /** Starts the thread. */
    Balancer start() {
        thread.setDaemon(true);
        thread.start();
        return this;
    }

    /** Ends it soon. */
    void end() {
        ended = true;
        thread.interrupt();
    }

    @Override
    public void run() {
        try {
            while (!ended) {
                TimeUnit.NANOSECONDS.sleep(pauseNanos);
                try {
                    balance();
                } catch (RuntimeException e) { // no answer now, or closed
                    LOG.debug("{} could not see who leads what: {}", relay, e.toString());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void balance() {
        var states =
                seats.stream().map(seat -> elections.election(seat).state()).toList();
        surplus(relay, states).ifPresent(shard -> {
            LOG.info("{} leads more than others do, and gives up {}", relay, seats.get(shard));
            elections.election(seats.get(shard)).standDown();
        });
    }

    /**
     * Returns a shard that this relay had better give up: the last that it leads, if somebody who stands for it leads
     * two less.
     */
    static OptionalInt surplus(String relay, List<Election.State> states) {
        Map<String, Integer> leads = new TreeMap<>();
        for (var state : states) {
            state.candidates().forEach(candidate -> leads.putIfAbsent(candidate.id(), 0));
            state.leader().map(Leader::candidate).ifPresent(leader -> leads.merge(leader, 1, Integer::sum));
        }
        var ours = leads.getOrDefault(relay, 0);
        for (var shard = states.size() - 1; shard >= 0; shard--) {
            var state = states.get(shard);
            if (state.leader().map(Leader::candidate).filter(relay::equals).isPresent()
                    && state.candidates().stream()
                            .map(Candidate::id)
                            .anyMatch(other -> leads.getOrDefault(other, 0) <= ours - 2)) {
                return OptionalInt.of(shard);
            }
        }
        return OptionalInt.empty();
    }
}
