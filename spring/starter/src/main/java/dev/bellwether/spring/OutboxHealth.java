package dev.bellwether.spring;

import dev.bellwether.outbox.OutboxAdmin;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.RelayStats;
import java.sql.SQLException;
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
    private final OutboxAdmin admin;
    private final RelayTroubles troubles;

    OutboxHealth(OutboxRelay relay, OutboxAdmin admin, RelayTroubles troubles) {
        this.relay = relay;
        this.admin = admin;
        this.troubles = troubles;
    }

    /** How it is; what an operator wants to know. */
    record Told(String status, Map<String, Object> details) {}

    /** Asks the database, once. */
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
        try {
            var state = admin.quickState();
            details.put("backlog", state.backlog());
            details.put("exact", state.exact());
            details.put("oldest", state.oldest().toString());
            details.put("parked", state.parked());
            var leaders = new TreeMap<String, String>();
            state.shards().forEach(shard -> leaders.put(String.valueOf(shard.shard()), shard.relay()));
            details.put("leaders", leaders);
        } catch (SQLException | RuntimeException e) {
            details.put("database", String.valueOf(e.getMessage()));
            degraded = true;
        }
        return new Told(troubles.isAnyFailed() ? "DOWN" : degraded ? DEGRADED : "UP", details);
    }
}
