package dev.bellwether.kafka;

import static dev.bellwether.kafka.LeaderTopic.value;
import static dev.bellwether.spi.Finding.error;
import static dev.bellwether.spi.Finding.ok;
import static dev.bellwether.spi.Finding.warning;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Finding.Term;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What is so with a cluster and what follows for elections. Confined to one thread; waits for answers. */
final class KafkaDoctor {
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final String OFFSETS = "__consumer_offsets";
    private static final String REPLICATION = "replication";
    private static final String JOURNAL = "journal";
    private static final String LOG = "log";

    private final AdminConnection admin;
    private final Settings settings;
    private final Duration lease;
    private final List<Finding> findings = new ArrayList<>();

    private KafkaDoctor(AdminConnection admin, Settings settings, Duration lease) {
        this.lease = lease;
        this.admin = admin;
        this.settings = settings;
    }

    /** Looks. What the brokers and the topic refuse by themselves is told by the one who knows. */
    static List<Finding> of(AdminConnection admin, Settings settings, CandidacyConfig candidacy) {
        var checkup = new KafkaDoctor(admin, settings, candidacy.lease());
        checkup.vacancies(candidacy);
        var brokers = checkup.brokers();
        checkup.topic(settings.topic(), brokers, Use.JOURNAL);
        checkup.topic(OFFSETS, brokers, Use.GROUPS);
        return checkup.findings;
    }

    /** Looks, for elections by the log alone; what is so with all of their kind is told elsewhere. */
    static List<Finding> ofLog(AdminConnection admin, Settings settings) {
        var checkup = new KafkaDoctor(admin, settings, settings.longestLease());
        checkup.topic(settings.topic(), checkup.brokers(), Use.LOG);
        return checkup.findings;
    }

    /** What a topic is for. */
    private enum Use {
        JOURNAL,
        GROUPS,
        LOG
    }

    private void vacancies(CandidacyConfig candidacy) {
        var session = new Term("session", candidacy.lease());
        findings.add(ok("session", "it is the lease, " + candidacy.lease().toMillis() + " ms"));
        // A standby that waits has been told of the end within a retry; the coordinator answers it when the session is
        // over.
        var retry = new Term("retry", candidacy.retryInterval()); // here chance does not lengthen it
        findings.addAll(Finding.vacancies(List.of(session, retry), List.of(Term.standDown(candidacy))));
        findings.add(ok("clock", "no broker's clock decides: sessions and leases are lengths of time, not dates"));
    }

    private int brokers() {
        try {
            return await(admin.ask(client -> client.describeCluster().nodes())).size();
        } catch (ExecutionException e) {
            throw KafkaErrors.translated(Causes.unwrapped(e), settings, "the Kafka brokers at " + settings.bootstrap());
        }
    }

    private void topic(String name, int brokers, Use use) {
        try {
            var topic = Objects.requireNonNull(await(admin.ask(
                            client -> client.describeTopics(List.of(name)).allTopicNames()))
                    .get(name));
            var resource = new ConfigResource(ConfigResource.Type.TOPIC, name);
            var config = Objects.requireNonNull(await(admin.ask(
                            client -> client.describeConfigs(List.of(resource)).all()))
                    .get(resource));
            replication(name, topic, config, brokers);
            if (use != Use.GROUPS) {
                if (use == Use.LOG) {
                    log(name, config);
                } else {
                    journal(name, config);
                }
                findings.add(ok("rights", "we may look at topic " + name + " and its settings"));
            }
        } catch (ExecutionException e) {
            var meaning = Causes.unwrapped(e);
            if (meaning instanceof UnknownTopicOrPartitionException) {
                if (use == Use.LOG) {
                    findings.add(gone(name, LOG));
                } else if (use != Use.GROUPS) { // which is there when the first candidate has stood
                    findings.add(gone(name, JOURNAL));
                }
                return;
            }
            if (meaning instanceof AuthorizationException) {
                findings.add(warning(
                        "rights",
                        "we may not read the settings of topic " + name + ": whether its records are safe is not known",
                        "allow DESCRIBE and DESCRIBE_CONFIGS on it, or look there yourself"));
                return;
            }
            throw KafkaErrors.translated(meaning, settings, "the Kafka brokers at " + settings.bootstrap());
        }
    }

    private static Finding gone(String name, String about) {
        return error(
                about,
                "the brokers say that there is no topic " + name
                        + ": it was deleted, or created a moment ago. While it is gone, nobody can be elected",
                "look again: connecting creates it, or prints the command that does");
    }

    private void replication(String name, TopicDescription topic, Config config, int brokers) {
        var replicas = topic.partitions().stream()
                .mapToInt(partition -> partition.replicas().size())
                .min()
                .orElse(1);
        var behind = topic.partitions().stream()
                .filter(partition ->
                        partition.isr().size() < partition.replicas().size())
                .count();
        var inSync = number(config, "min.insync.replicas").orElse(1L);
        if (replicas == 1) {
            findings.add(warning(
                    REPLICATION,
                    "topic " + name
                            + " has one replica: while its broker is down nobody leads, and its disk alone holds"
                            + " what was decided",
                    brokers < 3
                            ? "run three brokers, and give it 3 replicas"
                            : "give it 3 replicas (kafka-reassign-partitions.sh)"));
        } else if (inSync < 2) {
            findings.add(error(
                    REPLICATION,
                    "topic " + name + " has min.insync.replicas=" + inSync
                            + ": a record that one broker alone acknowledged may be lost with it; then two may"
                            + " lead, and tokens fall",
                    "set min.insync.replicas=2 on it"));
        } else if (inSync >= replicas) {
            findings.add(warning(
                    REPLICATION,
                    "topic " + name + " has " + replicas + " replicas, and min.insync.replicas=" + inSync
                            + ": while any of their brokers is down nobody leads",
                    "set min.insync.replicas=" + (replicas - 1) + (replicas == 2 ? " and give it 3 replicas" : "")));
        } else {
            findings.add(ok(
                    REPLICATION,
                    "topic " + name + " has " + replicas + " replicas, of which " + inSync + " acknowledge"));
        }
        if (behind > 0) {
            findings.add(warning(
                    REPLICATION,
                    "topic " + name + " has " + behind + " partitions with replicas that are behind",
                    "start the brokers that are down, or find out what slows them"));
        }
        if (value(config, "unclean.leader.election.enable")
                .filter("true"::equals)
                .isPresent()) {
            findings.add(error(
                    "durability",
                    "topic " + name
                            + " has unclean.leader.election.enable=true: a replica that lacks what was acknowledged may"
                            + " take over, so that two may lead and tokens fall",
                    "set unclean.leader.election.enable=false on it"));
        } else {
            findings.add(ok("durability", "topic " + name + " keeps what was acknowledged when leaders change"));
        }
    }

    private void journal(String name, Config config) {
        var policy = value(config, "cleanup.policy").orElse("delete");
        if (!policy.equals("compact")) {
            findings.add(warning(
                    JOURNAL,
                    "topic " + name + " has cleanup.policy=" + policy
                            + ", and is not compacted alone: it loses which elections have ended, and the names of"
                            + " those that nobody leads",
                    "set cleanup.policy=compact on it"));
        } else {
            findings.add(ok(JOURNAL, "topic " + name + " is compacted"));
        }
        if (policy.contains("delete") && number(config, "retention.bytes").orElse(-1L) >= 0) {
            findings.add(error(
                    JOURNAL,
                    "topic " + name + " has retention.bytes="
                            + number(config, "retention.bytes").orElse(-1L)
                            + ": it may lose records of leases that have not run out, so that two may lead",
                    "set retention.bytes=-1 on it"));
        }
        keeps(name, config, policy, "compact", "min.compaction.lag.ms");
        keeps(name, config, policy, "delete", "retention.ms");
        dates(name, config, JOURNAL);
    }

    private void dates(String name, Config config, String subject) {
        if (value(config, "message.timestamp.type")
                .filter("LogAppendTime"::equals)
                .isEmpty()) {
            findings.add(warning(
                    subject,
                    "topic " + name
                            + " has the timestamps of its writers: observers see since when a leader leads by the"
                            + " leader's clock",
                    "set message.timestamp.type=LogAppendTime on it"));
        }
    }

    private void log(String name, Config config) {
        var longest = Durations.show(settings.longestLease());
        var policy = value(config, "cleanup.policy").orElse("delete");
        if (policy.equals("delete")) {
            findings.add(ok(LOG, "topic " + name + " is not compacted: all who read it know the same"));
        } else {
            findings.add(error(
                    LOG,
                    "topic " + name + " has cleanup.policy=" + policy
                            + ": compaction removes records that are in effect, so nobody can be elected for " + longest
                            + " whenever a process starts",
                    "set cleanup.policy=delete on it"));
        }
        var keeps = number(config, "retention.ms").filter(millis -> millis >= 0).orElse(Long.MAX_VALUE);
        if (keeps < LeaderTopic.LEAST_RETENTION.toMillis()) {
            findings.add(error(
                    LOG,
                    "topic " + name + " has retention.ms=" + keeps
                            + ": it loses checkpoints before the next is written, and then nobody can be elected for "
                            + longest,
                    "set retention.ms=345600000 on it"));
        }
        number(config, "retention.bytes")
                .filter(bytes -> bytes >= 0)
                .ifPresent(bytes -> findings.add(warning(
                        LOG,
                        "topic " + name + " has retention.bytes=" + bytes
                                + ": it may lose the last checkpoint, and then nobody can be elected for " + longest,
                        "set retention.bytes=-1 on it")));
        number(config, "max.message.bytes")
                .filter(bytes -> bytes < LogKeeper.LARGEST_RECORD)
                .ifPresent(bytes -> findings.add(error(
                        LOG,
                        "topic " + name + " has max.message.bytes=" + bytes
                                + ": a checkpoint does not fit. So a process that starts reads the whole log, and"
                                + " nobody can be elected for " + longest + " when the topic has forgotten its"
                                + " beginning",
                        "set max.message.bytes=" + LogKeeper.LARGEST_RECORD + " or more on it")));
        dates(name, config, LOG);
        findings.add(ok(
                LOG,
                "if it is new, or found to have lost what it held, nobody can be elected for " + longest + " ("
                        + Settings.LONGEST_LEASE
                        + "). Two may lead if acknowledged records are lost that a candidate had not read, or if the"
                        + " topic is deleted and created again while candidates run"));
    }

    private void keeps(String name, Config config, String policy, String kind, String setting) {
        var keeps = number(config, setting).filter(millis -> millis >= 0).orElse(Long.MAX_VALUE);
        if (policy.contains(kind) && keeps < lease.toMillis()) {
            findings.add(error(
                    JOURNAL,
                    "topic " + name + " has " + setting + "=" + keeps + ", less than the lease of " + lease.toMillis()
                            + " ms: it may lose records of leases that have not run out, so that two may lead",
                    "set " + setting + "=3600000 on it"));
        }
    }

    private static Optional<Long> number(Config config, String name) {
        return value(config, name).map(Long::parseLong);
    }

    private <T> T await(KafkaFuture<T> future) throws ExecutionException {
        try {
            return future.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new UnavailableException(
                    "no answer from the Kafka brokers at " + settings.bootstrap() + " within "
                            + Durations.show(PATIENCE),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while asking the Kafka brokers", e);
        }
    }
}
