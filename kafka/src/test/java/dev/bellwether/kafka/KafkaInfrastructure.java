package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FreeNumbers;
import dev.bellwether.testkit.Infrastructure;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;

/** A Kafka cluster that the tests of one JVM share. */
class KafkaInfrastructure implements Infrastructure {
    /** How many clients of one test can be cut off at a time. */
    static final int LINKS = 3;
    /** How many clients of those that run side by side. */
    static final int ALL_LINKS = 6 * LINKS;

    private static final FreeNumbers NUMBERS = new FreeNumbers(ALL_LINKS);

    private final KafkaBrokers brokers;
    private final String query;
    private final FreeNumbers.Taken links = NUMBERS.begin();

    KafkaInfrastructure(KafkaBrokers brokers) {
        this(brokers, "");
    }

    /** With this behind the addresses of each URI. */
    KafkaInfrastructure(KafkaBrokers brokers, String query) {
        this.brokers = brokers;
        this.query = query;
    }

    /**
     * Has brokers that have just started do for once what takes them long the first time, above all on a busy machine.
     */
    static KafkaBrokers warm(KafkaBrokers brokers) {
        return warm(brokers, "", Duration.ofSeconds(30));
    }

    /** Has them do it with this behind their addresses, and with such a lease. */
    static KafkaBrokers warm(KafkaBrokers brokers, String query, Duration lease) {
        Eventually.eventually("the brokers answer", Duration.ofMinutes(2), () -> {
            try (var elections = Elections.connect("kafka://" + brokers.bootstrap() + query);
                    var candidacy = elections.stand("warm-up", CandidacyConfig.ofLease(lease))) {
                return candidacy.await(Duration.ofSeconds(60)).isPresent();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        return brokers;
    }

    @Override
    public Map<Capability, String> lacks() {
        return Map.of(
                Capability.HAND_OVER, "the group decides whose turn it is",
                Capability.PROCLAIM, "metadata is written when a candidate comes");
    }

    @Override
    public String describe() {
        return "Kafka on " + brokers.brokers().size() + " broker(s)";
    }

    @Override
    public Duration lease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Elections connect(ElectionsConfig config) {
        return Elections.connect("kafka://" + brokers.bootstrap() + query, config);
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var number = links.next();
        var link = brokers.link(number);
        link.heal();
        return new Linked(Elections.connect("kafka://" + brokers.bootstrap(number) + query, config), link);
    }

    @Override
    public boolean asks() {
        return false; // the group says who leads
    }

    @Override
    public Map<String, Long> leftovers() {
        try (var admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrap()))) {
            var groups = admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get().stream()
                    .map(GroupListing::groupId)
                    .toList();
            var members = admin.describeConsumerGroups(groups).all().get().values().stream()
                    .mapToLong(group -> group.members().size())
                    .sum();
            return Map.of("groups", (long) groups.size(), "members", members);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the brokers do not tell their groups", e.getCause());
        }
    }

    /** A cycle joins and leaves a group, which takes some fifty milliseconds. */
    @Override
    public int cycles() {
        return 200;
    }

    @Override
    public void restartServer() {
        brokers.brokers().forEach(broker -> {
            broker.kill();
            broker.start();
        });
    }

    @Override
    public void pauseServer() {
        brokers.brokers().forEach(broker -> broker.pause());
    }

    @Override
    public void resumeServer() {
        List.copyOf(brokers.brokers()).forEach(broker -> broker.resume());
    }

    @Override
    public void close() {
        links.close();
    }
}
