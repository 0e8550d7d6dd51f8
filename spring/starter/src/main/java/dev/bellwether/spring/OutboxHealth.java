package dev.bellwether.spring;

import dev.bellwether.outbox.OutboxAdmin;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.RelayStats;
import java.util.Map;
import java.util.TreeMap;

/**
 * How the relay of this application is, whatever the version of Spring Boot calls that. A relay that stands by is well.
 * While Kafka or the database is away the application does its work, and messages wait: the relay is degraded, which
 * does not count in the health of the whole. It is down only when it will not stand again before a new start.
 */
final class OutboxHealth {
    /** What is neither up nor down, as far as the application goes. */
    static final String DEGRADED = "DEGRADED";

    private final OutboxRelay relay;
    private final RelayTroubles troubles;

    OutboxHealth(OutboxRelay relay, RelayTroubles troubles) {
        this.relay = relay;
        this.troubles = troubles;
    }

    /** How it is; what an operator wants to know. */
    record Told(String status, Map<String, Object> details) {}

    /** Never waits: a probe that comes again and again would use up the pool while the table is locked. */
    Told look() {
        var details = new TreeMap<String, Object>();
        var stats = relay.stats();
        var blocked = stats.stream().mapToLong(RelayStats::blocked).sum();
        details.put("leading", stats.stream().anyMatch(RelayStats::leading));
        details.put("blocked", blocked);
        var wrong = troubles.byShard();
        if (!wrong.isEmpty()) {
            details.put("error", wrong);
        }
        var degraded = !wrong.isEmpty() || blocked > 0;
        var known = relay.state();
        if (known.isPresent()) {
            var state = known.get();
            details.put("backlog", state.backlog());
            details.put("exact", state.exact());
            details.put("oldest", state.oldest().toString());
            details.put("parked", state.parked());
            degraded |= state.shards().stream().anyMatch(OutboxHealth::isLeft);
            var leaders = new TreeMap<String, String>();
            state.shards().forEach(shard -> leaders.put(String.valueOf(shard.shard()), leader(shard)));
            details.put("leaders", leaders);
        } else {
            details.put(
                    "database",
                    "the state of outbox " + relay.outbox()
                            + " is not known: its table has not been read yet, or cannot" + " be read now");
            degraded = true;
        }
        return new Told(troubles.isAnyFailed() ? "DOWN" : degraded ? DEGRADED : "UP", details);
    }

    /** Returns whether somebody has published a shard, and nobody does any more. */
    private static boolean isLeft(OutboxAdmin.ShardState shard) {
        return !shard.relay().isEmpty() && !shard.isServed();
    }

    private static String leader(OutboxAdmin.ShardState shard) {
        if (isLeft(shard)) {
            return "nobody publishes; the last was " + shard.relay();
        }
        return shard.relay().isEmpty() ? "nobody yet" : shard.relay();
    }
}
