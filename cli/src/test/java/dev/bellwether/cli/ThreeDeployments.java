package dev.bellwether.cli;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.nats.NatsServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Three instances that move from PostgreSQL to NATS, each by connections of its own, under the auditor. Confined to the
 * thread of the test.
 */
final class ThreeDeployments implements AutoCloseable {
    static final Duration LEASE = Duration.ofSeconds(2);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** By what an instance elects. */
    enum Kind {
        OLD,
        JOINT,
        NEXT
    }

    /** What happens to one of the two, for longer than a lease, or at once. */
    enum Fault {
        POSTGRES_STANDS_STILL,
        NATS_STANDS_STILL,
        POSTGRES_RESTARTS,
        NATS_RESTARTS,
        LEADER_IS_CUT_OFF_FROM_POSTGRES,
        LEADER_IS_CUT_OFF_FROM_NATS
    }

    private final PostgresServer postgres;
    private final NatsServer nats;
    private final String election = "moving-" + UUID.randomUUID();
    private final LeadershipAuditor auditor = new LeadershipAuditor();
    private final List<Instance> instances = new ArrayList<>();
    private final List<Instance> killed = new ArrayList<>();
    /** By token, who led under it. */
    final Map<Long, Kind> mandates = new ConcurrentSkipListMap<>();

    private int names;

    ThreeDeployments(PostgresServer postgres, NatsServer nats) {
        this.postgres = postgres;
        this.nats = nats;
    }

    void begin(int count) {
        for (var i = 0; i < count; i++) {
            instances.add(new Instance(Kind.OLD));
        }
        awaitLeader("at the beginning");
    }

    /** Restarts one process after the other; the last one is killed. Each time, some fault follows. */
    void deploy(Kind kind, List<Fault> faults) {
        var pending = new ArrayList<>(faults);
        for (var i = 0; i < instances.size(); i++) {
            var former = instances.get(i);
            var dies = i == instances.size() - 1;
            instances.set(i, new Instance(kind));
            if (dies) {
                former.kill();
            } else {
                former.close();
            }
            awaitLeader("deploying " + kind + ", after " + former + (dies ? " was killed" : " left"));
            if (!pending.isEmpty()) {
                suffer(pending.remove(0), kind);
            }
        }
        for (var fault : pending) {
            suffer(fault, kind);
        }
    }

    private void suffer(Fault fault, Kind kind) {
        switch (fault) {
            case POSTGRES_STANDS_STILL -> {
                postgres.pause();
                letALeaseAndAHalfPass();
                postgres.resume();
            }
            case NATS_STANDS_STILL -> {
                nats.pause();
                letALeaseAndAHalfPass();
                nats.resume();
            }
            case POSTGRES_RESTARTS -> postgres.crashAndRestart();
            case NATS_RESTARTS -> nats.crashAndRestart();
            case LEADER_IS_CUT_OFF_FROM_POSTGRES -> cutOff(true);
            case LEADER_IS_CUT_OFF_FROM_NATS -> cutOff(false);
        }
        awaitLeader("deploying " + kind + ", after " + fault);
    }

    private void cutOff(boolean fromPostgres) {
        var leader = Eventually.eventually(
                "somebody leads", PATIENCE, () -> leaders().stream().findFirst());
        var link = fromPostgres ? leader.toPostgres : leader.toNats;
        link.cut();
        letALeaseAndAHalfPass();
        link.heal();
    }

    private static void letALeaseAndAHalfPass() {
        Eventually.throughout("a fault", LEASE.multipliedBy(3).dividedBy(2), () -> true);
    }

    private List<Instance> leaders() {
        return instances.stream()
                .filter(instance -> instance.candidacy.isLeader())
                .toList();
    }

    private void awaitLeader(String when) {
        Eventually.eventually(
                "somebody leads " + when, PATIENCE, () -> !leaders().isEmpty());
    }

    /** Returns how many mandates there were by each kind. */
    Map<Kind, Integer> counts() {
        var counts = new TreeMap<Kind, Integer>();
        mandates.values().forEach(kind -> counts.merge(kind, 1, Integer::sum));
        return counts;
    }

    List<String> violations() {
        return auditor.violations();
    }

    @Override
    public void close() {
        instances.forEach(Instance::close);
        killed.forEach(Instance::bury);
        auditor.close();
    }

    private final class Instance {
        private final Kind kind;
        private final String name = "p" + ++names;
        private final FaultProxy toPostgres = FaultProxy.to("127.0.0.1", postgres.port());
        private final FaultProxy toNats = FaultProxy.to("127.0.0.1", nats.port());
        private final Elections elections;
        private final Candidacy candidacy;

        private Instance(Kind kind) {
            this.kind = kind;
            var old = PostgresServer.uri(toPostgres.port());
            var next = NatsServer.uri(toNats.port(), "bucket=moving");
            elections = switch (kind) {
                case OLD -> Elections.connect(old);
                case NEXT -> Elections.connect(next);
                case JOINT ->
                    names % 2 == 0
                            ? Elections.jointly(Elections.connect(old), Elections.connect(next))
                            : Elections.connect("joint:?old=" + encoded(old) + "&next=" + encoded(next));
            };
            candidacy = elections.stand(
                    election,
                    CandidacyConfig.builder()
                            .candidate(name)
                            .lease(LEASE)
                            .listener(this::heard)
                            .build());
            auditor.audit(candidacy);
        }

        private void heard(LeadershipEvent event) {
            if (event instanceof LeadershipEvent.Acquired acquired) {
                mandates.put(acquired.mandate().token(), kind);
            }
        }

        /** Its machine is gone, as the others see it. */
        private void kill() {
            toPostgres.cut();
            toNats.cut();
            killed.add(this);
        }

        /** It stays cut off to the end: one that came back would be a process of a step before. */
        private void bury() {
            toPostgres.close();
            toNats.close();
            elections.close();
        }

        private void close() {
            elections.close();
            toPostgres.close();
            toNats.close();
        }

        private String encoded(String uri) {
            return URLEncoder.encode(uri, StandardCharsets.UTF_8);
        }

        @Override
        public String toString() {
            return name + " (" + kind + ")";
        }
    }
}
