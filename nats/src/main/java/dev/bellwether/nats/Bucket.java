package dev.bellwether.nats;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.api.DiscardPolicy;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import io.nats.client.api.StreamInfo;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bucket: makes it if it does not exist, and tells what is wrong with it. It waits for answers, and so is for the
 * beginning and for operators.
 *
 * @param ttl after how long the server drops a key; zero for never
 * @param messageTtl whether a message may have a time of its own
 * @param created when it was made, by which another of the same name is told from it
 */
record Bucket(Duration ttl, int replicas, boolean messageTtl, String created) {
    private static final Logger log = LoggerFactory.getLogger(Bucket.class);
    private static final int STREAM_NOT_FOUND = 10059;
    private static final int SUBJECTS_OVERLAP = 10065;
    private static final int NAME_IN_USE = 10058;
    /** Of a domain that is one server, behind a cluster. */
    private static final int NOT_CLUSTERED = 10074;

    private static final String REPLICATION = "replication";
    private static final String REMAKE = "repair it with nats stream edit, or make another bucket and move over to it";
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long LARGEST_LAG = 100;
    private static final int NO_QUORUM = 503;
    /** So much of its limits may a bucket have used. */
    private static final double FULL = 0.8;

    private static final Finding LEADERLESS = Finding.error(
            REPLICATION,
            "it has no leader: nobody can claim or renew until the servers have chosen one",
            "make sure that more than half of its servers run");
    /**
     * The oldest on which we have seen no two compare-and-sets of one revision accepted. On 2.9.10 every second race
     * has two winners; on 2.10.27 it comes to that when several servers have died one after the other.
     */
    private static final String REPLICAS_SAFE_FROM = "2.15.1";

    private static final Duration SHORTEST_TTL = Duration.ofSeconds(1);
    private static final Duration SHORTEST_CHORIA_TTL = Duration.ofSeconds(4);
    private static final Duration LONGEST_CHORIA_TTL = Duration.ofHours(1);
    /** So long a replicated bucket was without a leader at most, when its leader was killed: see docs/nats.md. */
    static final Duration FAIL_OVER = Duration.ofSeconds(9);

    /** Says what that means for a lease that is no longer, of an election if one is named. */
    static Finding tooShort(String election, Duration lease) {
        return Finding.warning(
                "fail-over",
                (election.isEmpty() ? "" : '"' + election + "\": ")
                        + "a lease of " + Durations.show(lease)
                        + " does not survive the 4 to 9 seconds that a replicated bucket is without a"
                        + " leader after its server died",
                "take 20 seconds or more if it must");
    }

    /** Finds or makes the bucket, and refuses one that cannot hold elections. */
    static Bucket open(BucketClient client, NatsConfig config) {
        var end = System.nanoTime() + PATIENCE_NANOS;
        while (true) {
            try {
                var management = client.connection().jetStreamManagement(client.options());
                var info = findOrMake(management, client, config);
                var wrong = wrong(info, client, config);
                if (!wrong.isEmpty()) {
                    throw new ElectionException(client + " cannot hold elections: " + String.join("; ", wrong));
                }
                kept(info, client).stream()
                        .filter(finding -> finding.level() != Finding.Level.OK)
                        .forEach(finding -> log.warn("{}: {}; {}", client, finding.says(), finding.remedy()));
                var found = info.getConfiguration();
                return new Bucket(found.getMaxAge(), found.getReplicas(), found.getAllowMessageTtl(), created(info));
            } catch (JetStreamApiException e) {
                // one that another process makes at the moment is in use for who makes it, and not found by who asks
                var again = e.getErrorCode() >= 500
                        || e.getApiErrorCode() == STREAM_NOT_FOUND
                        || e.getApiErrorCode() == SUBJECTS_OVERLAP; // it may be that one
                if (System.nanoTime() - end > 0 || !again) {
                    throw refused(client, e);
                }
            } catch (IOException | IllegalStateException e) { // the latter: there is no connection
                requireRights(client, e);
                if (System.nanoTime() - end > 0) {
                    throw new UnavailableException(
                            client
                                    + ": JetStream does not answer; is it switched on, and has the cluster a"
                                    + " leader? (it said: "
                                    + e.getMessage() + ")",
                            e);
                }
            }
            LockSupport.parkNanos(PAUSE_NANOS); // a cluster that has just been started has no leader yet
            if (Thread.currentThread().isInterrupted()) {
                throw new UnavailableException("interrupted while looking for " + client);
            }
        }
    }

    /** Returns what an operator should know of the bucket as it is now. */
    static List<Finding> findings(BucketClient client, NatsConfig config, CandidacyConfig candidacy) {
        try {
            var info = client.connection().jetStreamManagement(client.options()).getStreamInfo(client.stream());
            var all = new ArrayList<Finding>();
            wrong(info, client, config).forEach(wrong -> all.add(Finding.error("bucket", wrong, REMAKE)));
            all.add(Finding.ok("storage", describe(info)));
            all.addAll(kept(info, client));
            var replicas = info.getConfiguration().getReplicas();
            if (replicas > 1 && candidacy.lease().compareTo(FAIL_OVER) <= 0) {
                all.add(tooShort("", candidacy.lease()));
            }
            if (!config.choria() && !info.getConfiguration().getMaxAge().isZero()) {
                all.add(Finding.ok(
                        "keys",
                        "the server drops keys after "
                                + Durations.show(info.getConfiguration().getMaxAge())
                                + ", or sooner if its clock jumps: the first claim of an election waits a lease"));
            }
            if (!config.choria()
                    && client.serverIsAtLeast("2.11.0")
                    && !info.getConfiguration().getAllowMessageTtl()) {
                all.add(Finding.ok(
                        "left behind",
                        "the keys of candidates that crashed stay in the bucket, unlisted, because it does not allow"
                                + " TTLs of messages: update the stream with allow_msg_ttl, and connect again"));
            }
            all.add(Finding.ok("rights", "we may ask for the bucket, read it and write to it"));
            return all;
        } catch (JetStreamApiException e) {
            if (e.getErrorCode() == NO_QUORUM) {
                return List.of(LEADERLESS);
            }
            throw refused(client, e);
        } catch (IOException | IllegalStateException e) { // the latter: there is no connection
            requireRights(client, e);
            throw new UnavailableException(
                    client + " does not tell of its bucket; has that a leader? (it said: " + e.getMessage() + ")", e);
        }
    }

    /** Nothing is answered that we may not ask. */
    private static void requireRights(BucketClient client, Exception e) {
        client.missingRight("STREAM.").ifPresent(missing -> {
            throw new ElectionException(client + " " + missing, e);
        });
    }

    private static StreamInfo findOrMake(JetStreamManagement management, BucketClient client, NatsConfig config)
            throws IOException, JetStreamApiException {
        try {
            return management.getStreamInfo(client.stream());
        } catch (JetStreamApiException e) {
            if (e.getApiErrorCode() != STREAM_NOT_FOUND) {
                throw e;
            }
            if (!config.create()) {
                throw new ElectionException(
                        client + " has no bucket " + config.bucket() + ": make it (nats kv add " + config.bucket()
                                + " --history 1 --storage file --replicas 3), or allow it to be made (create)",
                        e);
            }
        }
        var wanted = config.replicas().orElseGet(() -> likelyReplicas(client));
        while (true) {
            try {
                return management.addStream(configuration(client, config, wanted));
            } catch (JetStreamApiException e) {
                if (e.getApiErrorCode() == NAME_IN_USE) {
                    return management.getStreamInfo(client.stream()); // somebody was quicker
                }
                var cannot = e.getErrorCode() < 500 || e.getApiErrorCode() == NOT_CLUSTERED;
                if (wanted == 1 || config.replicas().isPresent() || !cannot) {
                    throw e;
                }
                wanted -= 2;
            }
        }
    }

    private static int likelyReplicas(BucketClient client) {
        if (!client.serverIsAtLeast(REPLICAS_SAFE_FROM)) {
            return 1;
        }
        var info = client.connection().getServerInfo();
        if (info.getCluster() == null) {
            return 1;
        }
        // A cluster may tell of no other servers (no_advertise), or not yet: it refuses what it has not got the servers
        // for.
        return info.getConnectURLs().size() >= 5 ? 5 : 3;
    }

    private static StreamConfiguration configuration(BucketClient client, NatsConfig config, int replicas) {
        var builder = StreamConfiguration.builder()
                .name(client.stream())
                .description(config.choria() ? "Choria Leader Election Bucket" : "Bellwether elections")
                .subjects(client.storedSubject(">"))
                .maxMessagesPerSubject(1)
                .storageType(StorageType.File)
                .replicas(replicas)
                .discardPolicy(DiscardPolicy.New)
                .allowRollup(true)
                .denyDelete(true)
                .allowDirect(true);
        if (config.choria()) {
            return builder.maxAge(config.ttl().orElse(NatsConfig.CHORIA_TTL))
                    .maximumMessageSize(1024)
                    .build();
        }
        config.ttl().ifPresent(builder::maxAge);
        if (client.serverIsAtLeast("2.10.0")) {
            // so that revisions rise from one bucket of this name to the next
            builder.firstSequence(System.currentTimeMillis());
        }
        if (client.serverIsAtLeast("2.11.0")) {
            builder.allowMessageTtl();
        }
        return builder.build();
    }

    /** What we cannot work with. */
    static List<String> wrong(StreamInfo info, BucketClient client, NatsConfig config) {
        var found = info.getConfiguration();
        var wrong = new ArrayList<String>();
        if (found.getReplicas() > 1 && !client.serverIsAtLeast(REPLICAS_SAFE_FROM)) {
            wrong.add("it has " + found.getReplicas() + " replicas on a server older than " + REPLICAS_SAFE_FROM
                    + ", which may accept two writes where only one can be right (2.9.10 and 2.10.27 do), so that"
                    + " two would lead: use a newer server, or a bucket with one replica");
        }
        if (found.getMaxMsgsPerSubject() != 1) {
            wrong.add("its history is " + found.getMaxMsgsPerSubject() + ", and must be 1");
        }
        if (found.getMirror() != null) {
            wrong.add("it is a mirror, which takes no claims: use the bucket that it mirrors");
        }
        if (found.getSealed()) {
            wrong.add("it is sealed");
        }
        var limits = limits(found);
        if (found.getDiscardPolicy() == DiscardPolicy.Old && !limits.isEmpty()) {
            wrong.add("it drops the oldest keys when it is full (" + String.join(", ", limits)
                    + "), and so a seat while its leader leads, so that two would: nats stream edit " + client.stream()
                    + " --discard new, or set no such limit");
        }
        var ttl = found.getMaxAge();
        if (config.choria()) {
            if (ttl.compareTo(SHORTEST_CHORIA_TTL) < 0 || ttl.compareTo(LONGEST_CHORIA_TTL) > 0) {
                wrong.add("its TTL is " + (ttl.isZero() ? "not set" : Durations.show(ttl))
                        + ", and Choria takes 4 seconds to an hour");
            }
        } else if (!ttl.isZero() && ttl.compareTo(SHORTEST_TTL) < 0) {
            wrong.add("its TTL is " + Durations.show(ttl) + ": make it longer than every lease, or none");
        }
        return wrong;
    }

    /** Returns how much may be in it, as far as that is limited. */
    private static List<String> limits(StreamConfiguration found) {
        var limits = new ArrayList<String>();
        if (found.getMaxBytes() > 0) {
            limits.add("max_bytes is " + found.getMaxBytes());
        }
        if (found.getMaxMsgs() > 0) {
            limits.add("max_msgs is " + found.getMaxMsgs());
        }
        return limits;
    }

    /** How it is kept: what is a danger to elections, or to their being held at all. */
    static List<Finding> kept(StreamInfo info, BucketClient client) {
        var found = info.getConfiguration();
        var all = new ArrayList<Finding>();
        if (found.getStorageType() == StorageType.Memory) {
            all.add(Finding.error(
                    "durability",
                    "it is kept in memory: when its servers are restarted, leases are forgotten and tokens begin again",
                    "make a bucket with file storage, and move over to it"));
        } else {
            all.add(Finding.ok("durability", "it is kept in files"));
        }
        var state = info.getStreamState();
        var replicated = found.getReplicas() > 1;
        nearlyFull(state.getByteCount(), "max_bytes", found.getMaxBytes(), replicated)
                .ifPresent(all::add);
        nearlyFull(state.getMsgCount(), "max_msgs", found.getMaxMsgs(), replicated)
                .ifPresent(all::add);
        if (found.getReplicas() == 1 && client.connection().getServerInfo().getCluster() != null) {
            all.add(Finding.warning(
                    REPLICATION,
                    "it is kept on one server of a cluster: while that is down nobody can lead",
                    "give it 3 replicas"));
        } else if (found.getReplicas() % 2 == 0) {
            all.add(Finding.warning(
                    REPLICATION,
                    "it has " + found.getReplicas() + " replicas, which tolerate no more failures than one less",
                    "give it one more, or one less"));
        } else {
            all.add(Finding.ok(REPLICATION, "it has " + found.getReplicas() + " of 1, 3 or 5 replicas"));
        }
        if (found.getReplicas() > 1) {
            all.addAll(ofCluster(info, found.getReplicas()));
        }
        return all;
    }

    /** A replicated bucket refuses a write before it knows that it replaces a message, and so refuses renewals. */
    private static Optional<Finding> nearlyFull(long used, String limit, long most, boolean replicated) {
        return most > 0 && used > most * FULL
                ? Optional.of(Finding.warning(
                        "space",
                        "it has used " + used + " of " + limit + " " + most
                                + "; when it is full, "
                                + (replicated
                                        ? "no leader can renew its lease, and nobody can be elected"
                                        : "nobody can stand in another election"),
                        "raise " + limit + ", or set none"))
                : Optional.empty();
    }

    /** Returns what the bucket is, and where: what {@code choria election info} tells of one. */
    private static String describe(StreamInfo info) {
        var found = info.getConfiguration();
        var cluster = info.getClusterInfo();
        var hosts = new ArrayList<String>();
        if (cluster != null
                && cluster.getLeader() != null
                && !cluster.getLeader().isEmpty()) {
            hosts.add(cluster.getLeader() + " (leads)");
        }
        if (cluster != null && cluster.getReplicas() != null) {
            cluster.getReplicas().forEach(replica -> hosts.add(replica.getName()));
        }
        return "%s, made %s, kept in %s, TTL %s, %d replica%s%s"
                .formatted(
                        found.getName(),
                        created(info),
                        found.getStorageType() == StorageType.Memory ? "memory" : "files",
                        found.getMaxAge().isZero() ? "none" : Durations.show(found.getMaxAge()),
                        found.getReplicas(),
                        found.getReplicas() == 1 ? "" : "s",
                        hosts.isEmpty() ? "" : " on " + String.join(", ", hosts));
    }

    private static List<Finding> ofCluster(StreamInfo info, int replicas) {
        var all = new ArrayList<Finding>();
        var cluster = info.getClusterInfo();
        if (cluster == null
                || cluster.getLeader() == null
                || cluster.getLeader().isEmpty()) {
            all.add(LEADERLESS);
            return all;
        }
        var others = cluster.getReplicas() == null ? List.<io.nats.client.api.Replica>of() : cluster.getReplicas();
        for (var replica : others) {
            if (replica.isOffline()) {
                all.add(Finding.warning(
                        REPLICATION, "its replica " + replica.getName() + " is offline", "start that server"));
            } else if (replica.getLag() > LARGEST_LAG) {
                all.add(Finding.warning(
                        REPLICATION,
                        "its replica " + replica.getName() + " is " + replica.getLag() + " operations behind",
                        "wait, or see what slows that server"));
            } else if (!replica.isCurrent()) {
                all.add(Finding.warning(
                        REPLICATION,
                        "its replica " + replica.getName() + " is not up to date",
                        "wait, or see what slows that server"));
            }
        }
        if (others.size() < replicas - 1) {
            all.add(Finding.warning(
                    REPLICATION,
                    "it has " + (others.size() + 1) + " of its " + replicas + " replicas",
                    "start the servers that are missing, or others in their place"));
        }
        return all;
    }

    private static String created(StreamInfo info) {
        return info.getCreateTime().toInstant().toString();
    }

    private static RuntimeException refused(BucketClient client, JetStreamApiException e) {
        var said = " (it said: " + e.getMessage() + ")";
        return e.getErrorCode() >= 500
                ? new UnavailableException(client + ": JetStream is unavailable; has the cluster a leader?" + said, e)
                : new ElectionException(client + " refused" + said, e);
    }
}
