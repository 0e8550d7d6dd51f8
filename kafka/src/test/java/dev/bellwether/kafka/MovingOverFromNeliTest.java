package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.RosterState;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each step of the guide in docs/rosters.md: a group in the manner of the NELI paper becomes a roster, beside members
 * that are built on librdkafka.
 */
@Tag("full") // three clusters, and members that come and go for a minute on each
@Timeout(300)
class MovingOverFromNeliTest {
    private static final int PARTITIONS = 4;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String roster = UUID.randomUUID().toString();
    private final String topic = "neli-" + roster;
    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    @AfterEach
    void close() throws Exception {
        for (var each : open) {
            each.close();
        }
    }

    private KcatMember old() {
        var member = new KcatMember(SharedBroker.get().bootstrap(), "old-" + roster, topic);
        open.push(member);
        return member;
    }

    private RosterState looked() {
        try (var elections = Elections.connect(SharedBroker.uri() + "?roster.group=old-" + roster)) {
            return elections.rosterState(roster).orElseThrow();
        }
    }

    private Roster ours(RosterMode mode, String assignors) {
        var elections = Elections.connect(SharedBroker.uri() + "?roster.group=old-" + roster + assignors);
        open.push(elections);
        return elections.roster(
                roster,
                RosterConfig.builder()
                        .topic(topic)
                        .mode(mode)
                        .group("a")
                        .roles(PARTITIONS)
                        .partitions(PARTITIONS)
                        .lease(Duration.ofSeconds(6))
                        .build());
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    void membersAreReplacedOneByOneAndTheAssignorIsTakenAwayAtTheEnd(RosterMode mode) throws Exception {
        try (var admin =
                Admin.create(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()))) {
            makeTopic(admin);
        }
        var first = old(); // of a group whose id is like none of ours
        var second = old();
        awaitAll("the old ones lead", List.of(first, second), List.of());

        var a = ours(mode, "&assignors=range");
        awaitAll("one of ours has its share", List.of(first, second), List.of(a));
        first.close();
        awaitAll("one old one less", List.of(second), List.of(a));
        var b = ours(mode, "&assignors=range");
        awaitAll("two of ours have their shares", List.of(second), List.of(a, b));
        second.close();
        awaitAll("ours have it all", List.of(), List.of(a, b));
        assertThat(a.roles()).as("an even share").hasSize(2);

        a.close();
        awaitAll("the other leads while one is restarted", List.of(), List.of(b));
        var c = ours(mode, "");
        awaitAll("one that is eager and one that is not", List.of(), List.of(b, c));
        b.close();
        awaitAll("the first leads while the other is restarted", List.of(), List.of(c));
        var d = ours(mode, "");
        awaitAll("the group is cooperative", List.of(), List.of(c, d));
        var kept = tokens(c);
        assertThat(looked().groups())
                .singleElement()
                .satisfies(group -> assertThat(group.members()).hasSize(2));

        var late = old();
        Eventually.eventually(
                "an old one that comes late is refused",
                PATIENCE,
                () -> late.said().contains("nconsistent"));
        assertThat(tokens(c)).as("and nobody is disturbed").isEqualTo(kept);
        assertThat(late.owned()).isEmpty();
    }

    /** As the paper wants it: time-stamps of the broker. */
    private void makeTopic(Admin admin) throws InterruptedException, ExecutionException {
        admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1)
                        .configs(Map.of("message.timestamp.type", "LogAppendTime", "retention.ms", "1800000"))))
                .all()
                .get();
    }

    private static Map<Integer, Long> tokens(Roster roster) {
        return roster.roles().stream()
                .collect(Collectors.toMap(
                        role -> role, role -> roster.mandate(role).orElseThrow().token()));
    }

    /** Waits until everybody has a share, and each role is one's. */
    private static void awaitAll(String what, List<KcatMember> old, List<Roster> ours) {
        var all = IntStream.range(0, PARTITIONS).boxed().toList();
        Eventually.eventually(what, PATIENCE, () -> {
            var shares = new ArrayList<Collection<Integer>>();
            old.forEach(member -> shares.add(member.owned()));
            ours.forEach(member -> shares.add(member.roles()));
            return shares.stream().noneMatch(Collection::isEmpty)
                    && shares.stream()
                            .flatMap(Collection::stream)
                            .sorted()
                            .toList()
                            .equals(all);
        });
    }
}
