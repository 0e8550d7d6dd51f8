package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterState;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.RosterStanding;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;

/**
 * The rosters of one Kafka cluster: each has a topic of its own, each group of it is a consumer group. A member adds a
 * consumer and its thread, and in the exclusive mode a reader of the journal and its thread, however many roles there
 * are.
 *
 * <p>Thread-safe.
 */
final class KafkaRosters implements RosterCarrier {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Settings settings;
    private final AdminConnection admin;
    private final BrokerLimits limits;
    private final Writer writer;
    private final String id;
    private final Set<KafkaMembership> members = ConcurrentHashMap.newKeySet();
    private final RosterTopic.Absence absence = new RosterTopic.Absence();
    private final RosterTopic.Absence lack = new RosterTopic.Absence();
    private final RosterTopic.Absence failure = new RosterTopic.Absence(); // to add what is lacking

    KafkaRosters(Settings settings, AdminConnection admin, BrokerLimits limits, Writer writer, String id) {
        this.settings = settings;
        this.admin = admin;
        this.limits = limits;
        this.writer = writer;
        this.id = id;
    }

    @Override
    public void check(String roster, RosterConfig config) {
        limits.check(CandidacyConfig.ofLease(config.lease()));
        RosterTopic.require(settings, admin, roster, config, PATIENCE);
    }

    @Override
    public CompletionStage<Optional<RosterState>> read(String roster) {
        return RosterGroups.read(settings, admin, roster)
                .exceptionallyCompose(error -> CompletableFuture.failedStage(KafkaErrors.translated(
                        Causes.unwrapped(error),
                        new KafkaErrors.Resources(settings, RosterTopic.name(settings, roster), ""),
                        "the Kafka cluster at " + settings.bootstrap())));
    }

    /** Returns what an operator should fix in the rosters that there are, as far as we may look. */
    List<Finding> findings() {
        var prefix = RosterTopic.name(settings, "");
        var findings = new ArrayList<Finding>();
        try {
            for (var topic : new TreeSet<>(topics())) {
                if (topic.startsWith(prefix)) {
                    look(topic.substring(prefix.length()), topic, findings);
                }
            }
        } catch (TimeoutException e) {
            throw new UnavailableException("no answer from the Kafka brokers within " + Durations.show(PATIENCE), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while looking at rosters", e);
        }
        return findings;
    }

    private Set<String> topics() throws TimeoutException, InterruptedException {
        try {
            return await(admin.ask(client -> client.listTopics().names()).toCompletionStage());
        } catch (ExecutionException e) {
            passOver(e);
            return Set.of();
        }
    }

    private void look(String roster, String topic, List<Finding> findings)
            throws TimeoutException, InterruptedException {
        try {
            await(RosterGroups.read(settings, admin, roster))
                    .ifPresent(found -> found.advice()
                            .forEach(advice -> findings.add(Finding.warning(
                                    "rosters", advice, "see what docs/rosters.md says on groups and sizes"))));
            findings.addAll(RosterTopic.findings(admin, topic, PATIENCE));
        } catch (ExecutionException e) {
            passOver(e);
        }
    }

    /** What we may not see, others may; and a topic that is listed may be gone, or not known to each broker yet. */
    private void passOver(ExecutionException e) {
        var cause = Objects.requireNonNullElse(e.getCause(), e);
        if (!(cause instanceof AuthorizationException || cause instanceof UnknownTopicOrPartitionException)) {
            throw KafkaErrors.translated(cause, settings, "the Kafka cluster at " + settings.bootstrap());
        }
    }

    private static <T> T await(CompletionStage<T> stage)
            throws ExecutionException, TimeoutException, InterruptedException {
        return stage.toCompletableFuture().get(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
    }

    @Override
    public GroupMembership join(RosterStanding standing, GroupObserver observer, Loop loop) {
        var member = new KafkaMembership(standing, observer, this);
        members.add(member);
        try {
            member.start();
        } catch (RuntimeException | Error e) { // there is no thread for it
            members.remove(member);
            member.close();
            throw e;
        }
        return member;
    }

    Settings settings() {
        return settings;
    }

    String topic(RosterStanding standing) {
        return RosterTopic.name(settings, standing.roster(), standing.config());
    }

    String describe(RosterStanding standing) {
        return "topic " + topic(standing) + " of the Kafka cluster at " + settings.bootstrap();
    }

    KafkaConsumer<byte[], byte[]> member(RosterStanding standing, RosterAssignor.Participant participant) {
        return new KafkaConsumer<>(settings.rosterMember(
                RosterGroups.clientId(standing.instance(), standing.member()),
                group(standing),
                standing.config(),
                participant));
    }

    private String group(RosterStanding standing) {
        return settings.rosterGroup(standing.roster(), standing.config().group());
    }

    /** Returns the topic as it is now; empty if it is gone. */
    CompletionStage<Optional<TopicDescription>> look(RosterStanding standing) {
        var topic = topic(standing);
        return RosterTopic.look(admin, topic).thenApply(found -> {
            found.ifPresent(present -> absence.isOver(topic));
            return found;
        });
    }

    /** The topic is gone: creates it again, unless that is not for us. */
    void createAgain(RosterStanding standing) {
        isWhole(standing); // what it lacked lies behind us
        RosterTopic.createAgain(settings, admin, topic(standing), standing.config(), absence);
    }

    /** A broker has made the topic by itself: makes of it what it was, unless that is not for us. */
    void repair(RosterStanding standing, Uuid id) {
        RosterTopic.repair(settings, admin, topic(standing), id, standing.config(), lack, failure);
    }

    /** The topic has what we have given it, or what somebody else has. */
    void isWhole(RosterStanding standing) {
        lack.isOver(topic(standing));
        failure.isOver(topic(standing));
    }

    /** Returns whether nobody chose how many partitions the topic has. Completes only if the brokers answer. */
    CompletionStage<Boolean> bare(RosterStanding standing) {
        return RosterTopic.bare(admin, topic(standing));
    }

    ElectionException refusal(Throwable error, RosterStanding standing) {
        return KafkaErrors.translated(error, resources(standing), describe(standing));
    }

    private KafkaErrors.Resources resources(RosterStanding standing) {
        var chosen = !settings.rosterGroup().isEmpty();
        return new KafkaErrors.Resources(settings, topic(standing), chosen ? group(standing) : "");
    }

    KafkaConsumer<byte[], byte[]> reader(RosterStanding standing) {
        return new KafkaConsumer<>(settings.reader(id + '-' + standing.instance() + "-journal"));
    }

    /** Writes a record, or not, and tells. May block for as long as the client does not know where to send it. */
    void write(String topic, int partition, byte[] record, Consumer<@Nullable Exception> done) {
        writer.write(new ProducerRecord<>(topic, partition, null, record), done);
    }

    /** Returns why brokers take nothing that is written to the topic, if that has lasted for so long. */
    Optional<ElectionException> writesRefused(RosterStanding standing, Duration longest) {
        return writer.refusal(topic(standing), longest).map(error -> refusal(error, standing));
    }

    /** Somebody has written something, and it was read. */
    void writesTaken(RosterStanding standing) {
        writer.forget(topic(standing));
    }

    void closed(KafkaMembership member) {
        members.remove(member);
        var topic = member.topic();
        if (members.stream().noneMatch(other -> other.topic().equals(topic))) {
            writer.forget(topic); // nobody writes any more who would learn of it
        }
    }

    void close() {
        members.forEach(KafkaMembership::abandon);
    }
}
