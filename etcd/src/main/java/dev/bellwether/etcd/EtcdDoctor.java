package dev.bellwether.etcd;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** Looks at the members: whether they can be used, and what an operator should know of them. Blocks. */
final class EtcdDoctor {
    private static final Duration PATIENCE = Duration.ofSeconds(3);
    /** So much of its quota of space may a member have used. */
    private static final double FULL = 0.8;

    private static final long USUAL_QUOTA = 2L << 30;
    private static final long LONG_HISTORY = 1_000_000;
    /** What a member says of a revision that is not kept. */
    private static final String COMPACTED = "has been compacted";

    private EtcdDoctor() {}

    /**
     * Looks whether members answer, are of one cluster, and let us read.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if no member answers, or none has a leader
     */
    static void requireReachable(EtcdSettings settings, EtcdClient client) {
        client.members().requireReachable(member -> client.probe(member, "kv/range", settings.anyKey("0"), PATIENCE));
    }

    static List<Finding> findings(EtcdSettings settings, EtcdClient client) {
        var findings = new ArrayList<Finding>();
        var versions = new TreeSet<String>();
        var statuses = all(settings, client, "maintenance/status", "{}");
        for (var i = 0; i < statuses.size(); i++) {
            try {
                var status = HttpMembers.answer(statuses.get(i));
                versions.add(status.text("version"));
                findings.addAll(member(client.members().name(i), status));
            } catch (AccessRefusedException e) {
                findings.add(Finding.warning(
                        "rights",
                        "only users with the role root can see the state of the members, their space and alarms",
                        "ask for it as such a user; elections do not need it"));
                break;
            } catch (UnavailableException e) {
                findings.add(Finding.warning("members", String.valueOf(e.getMessage()), "start it, or do not name it"));
            }
        }
        var voters = 0L; // as long as it is not known
        try {
            voters = voters(client);
            findings.add(members(voters));
        } catch (AccessRefusedException | UnavailableException e) { // 3.5.28 tells it to the role root only
            findings.add(HttpMembers.quorumUnknown("how many members vote", e));
        }
        client.members().lookUps().ifPresent(findings::add);
        if (!versions.isEmpty()) {
            findings.add(version(versions, voters));
        }
        findings.add(history(settings, client));
        findings.add(Finding.ok("durability", "a write that was acknowledged is on the disks of a majority"));
        return findings;
    }

    private static List<Finding> member(String host, Json status) {
        var findings = new ArrayList<Finding>();
        for (var error : status.list("errors")) {
            findings.add(Finding.error(
                    "alarm",
                    host + " says: " + error.value(),
                    "while there is no space or no leader nobody is elected: compact, defragment, then etcdctl alarm"
                            + " disarm; or bring the other members back"));
        }
        if (status.flag("isLearner")) {
            findings.add(Finding.warning(
                    "members", host + " is a learner, and refuses requests", "promote it, or do not name it"));
        }
        var quota = status.number("dbSizeQuota") > 0 ? status.number("dbSizeQuota") : USUAL_QUOTA;
        if (status.number("dbSize") > quota * FULL) {
            findings.add(Finding.warning(
                    "space",
                    host + " uses " + (status.number("dbSize") >> 20) + " MB of " + (quota >> 20)
                            + " MB (or of what its --quota-backend-bytes says); when it is full, nobody is elected",
                    "compact and defragment, and have it compacted regularly"));
        }
        return findings;
    }

    private static long voters(EtcdClient client) {
        return HttpMembers.answer(client.read(Urgency.LIST, "cluster/member/list", "{}", PATIENCE))
                .list("members")
                .stream()
                .filter(member -> !member.flag("isLearner"))
                .count();
    }

    private static Finding members(long voters) {
        var says = voters + (voters == 1 ? " member votes" : " members vote") + "; elections go on while "
                + (voters / 2 + 1) + " of them run";
        return voters % 2 == 0 || voters == 1
                ? Finding.warning(
                        "quorum",
                        says
                                + (voters == 1
                                        ? ": no failure is tolerated"
                                        : ": this tolerates no more failures than one less"),
                        "have three members, or five")
                : Finding.ok("quorum", says);
    }

    static Finding version(Set<String> versions, long voters) {
        var losesMember = of(versions, "3\\.5\\.[0-2]");
        var losesAlone = voters == 1 ? of(versions, "3\\.4\\.(1?[0-9]|20)|3\\.5\\.[0-4]") : Optional.<String>empty();
        return losesMember
                .map(bad -> "etcd " + bad + " may lose acknowledged writes when a member is killed (etcd#13766)")
                .or(() -> losesAlone.map(bad -> "etcd " + bad + " as the only member may lose acknowledged writes when"
                        + " it is killed (etcd#14370)"))
                .map(why -> Finding.error("version", why, "upgrade to the newest patch of 3.4 or 3.5, or newer"))
                .orElseGet(() -> Finding.ok("version", "etcd " + String.join(", ", versions)));
    }

    private static Optional<String> of(Set<String> versions, String pattern) {
        return versions.stream().filter(version -> version.matches(pattern)).findFirst();
    }

    /** Every renewal is a revision: what is never compacted fills the store until it takes no more writes. */
    private static Finding history(EtcdSettings settings, EtcdClient client) {
        var old = client.revision() - LONG_HISTORY;
        try {
            if (old > 0) {
                var unused = HttpMembers.answer(
                        client.read(Urgency.LIST, "kv/range", settings.anyKey(Long.toString(old)), PATIENCE));
                return Finding.warning(
                        "compaction",
                        "more than " + LONG_HISTORY + " revisions are kept, and each renewal adds one",
                        "start all members with --auto-compaction-retention=1h");
            }
        } catch (UnavailableException e) {
            if (!String.valueOf(e.getMessage()).contains(COMPACTED)) {
                return Finding.warning(
                        "compaction",
                        "it is not known how many revisions are kept: " + e.getMessage(),
                        "run the doctor again");
            }
        }
        return Finding.ok("compaction", "at most " + LONG_HISTORY + " revisions are kept");
    }

    private static List<CompletableFuture<Json>> all(
            EtcdSettings settings, EtcdClient client, String path, String body) {
        return IntStream.range(0, settings.members().size())
                .mapToObj(member -> client.ask(member, path, body, PATIENCE))
                .toList();
    }
}
