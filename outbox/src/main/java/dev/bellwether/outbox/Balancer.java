package dev.bellwether.outbox;

import dev.bellwether.Candidate;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.BackendThread;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that the relays of a table lead about as many shards each. A thread of its own, which looks once in a
 * lease.
 *
 * <p>A relay that leads at least two shards more than another that stands by gives one up: in order, so that what is in
 * flight is committed and deleted first. It hands over to that one, and leads on until that is ready. Where nobody can
 * hand over by name, it stands down: it cannot say who takes the seat then; but of all that stand, the one who gave it
 * holds back for a lease. So the difference shrinks by one shard in a lease or so, and rests when nobody leads two more
 * than anybody else.
 *
 * <p>Elections may list a relay that has died for a while. One that does not take what it could have is passed over for
 * some leases.
 */
final class Balancer implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Balancer.class);
    /** For so many leases. */
    private static final int PASSED_OVER = 10;

    private final Elections elections;
    private final List<String> seats;
    private final String relay;
    private final long pauseNanos;
    private final Thread thread;
    private volatile boolean ended;

    // confined to the thread
    private @Nullable Move last;
    private final Map<String, Long> passedOverUntilNanos = new HashMap<>();

    /** A shard that one had better lead who leads less. */
    record Move(int shard, String to) {}

    Balancer(Elections elections, RelayConfig config, String relay) {
        this.elections = elections;
        this.seats = IntStream.range(0, config.shards()).mapToObj(config::seat).toList();
        this.relay = relay;
        thread = BackendThread.lasting("outbox-balance-" + relay, this, () -> ended);
        this.pauseNanos = config.lease().toNanos();
    }

    /** Starts the thread. */
    Balancer start() {
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
        var now = System.nanoTime();
        var before = last;
        if (before != null && states.get(before.shard).leader().isPresent()) {
            last = null;
            if (isLed(states.get(before.shard), relay)) {
                passedOverUntilNanos.put(before.to, now + PASSED_OVER * pauseNanos);
            }
        }
        passedOverUntilNanos.values().removeIf(until -> now - until >= 0);
        surplus(relay, states, passedOverUntilNanos.keySet()).ifPresent(this::give);
    }

    private void give(Move move) {
        last = move;
        var seat = elections.election(seats.get(move.shard));
        LOG.info("{} leads more than {} does, and gives it {}", relay, move.to, seats.get(move.shard));
        try {
            var outcome = seat.handOver(move.to, Duration.ofNanos(pauseNanos)).outcome();
            LOG.debug("{} was to lead {}: {}", move.to, seats.get(move.shard), outcome);
        } catch (UnavailableException e) {
            throw e;
        } catch (ElectionException e) { // nobody can hand over by name here
            seat.standDown();
        }
    }

    /**
     * Returns a shard that this relay had better give up: the last that it leads, if somebody who stands for it leads
     * two less, and who of those leads least.
     *
     * @param passedOver who does not count
     */
    static Optional<Move> surplus(String relay, List<Election.State> states, Set<String> passedOver) {
        Map<String, Integer> leads = new TreeMap<>();
        for (var state : states) {
            state.candidates().forEach(candidate -> leads.putIfAbsent(candidate.id(), 0));
            state.leader().map(Leader::candidate).ifPresent(leader -> leads.merge(leader, 1, Integer::sum));
        }
        leads.keySet().removeAll(passedOver);
        var ours = leads.getOrDefault(relay, 0);
        for (var shard = states.size() - 1; shard >= 0; shard--) {
            var state = states.get(shard);
            var least = state.candidates().stream()
                    .map(Candidate::id)
                    .filter(other -> leads.getOrDefault(other, ours) <= ours - 2)
                    .min(Comparator.comparing(leads::get));
            if (isLed(state, relay) && least.isPresent()) {
                return Optional.of(new Move(shard, least.get()));
            }
        }
        return Optional.empty();
    }

    private static boolean isLed(Election.State state, String by) {
        return state.leader().map(Leader::candidate).filter(by::equals).isPresent();
    }
}
