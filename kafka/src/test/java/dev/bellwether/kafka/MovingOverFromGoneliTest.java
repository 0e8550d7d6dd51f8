package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.testkit.Actor;
import dev.bellwether.testkit.EventLog;
import dev.bellwether.testkit.Stage;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each step of the guide in docs/kafka.md, beside members that are built on librdkafka as goNELI's are. */
@Timeout(300)
class MovingOverFromGoneliTest {
    private final Stage stage = new Stage(new KafkaInfrastructure(SharedBroker.get()), "goneli");
    private final String group = "old." + stage.election();
    private final String topic = group + ".neli";

    @BeforeEach
    void makeTheTopicThatIsThere() throws InterruptedException, ExecutionException {
        try (var admin =
                Admin.create(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
    }

    @AfterEach
    void close() {
        stage.close();
    }

    private KcatMember old() {
        var member = new KcatMember(SharedBroker.get().bootstrap(), group, topic);
        stage.onClose(member::close);
        return member;
    }

    /**
     * One of ours, as the guide says: with the old topic, a prefix that makes the same id of the group, and for a while
     * the assignor of the old.
     */
    private Actor ours(String assignors) {
        var elections = Elections.connect(SharedBroker.uri() + "?topic=" + topic + "&group.prefix=old." + assignors);
        stage.onClose(elections::close);
        return stage.standLong(elections, stage.election(), new EventLog());
    }

    @Test
    void processesAreReplacedOneByOneAndTheAssignorIsTakenAwayAtTheEnd() {
        var first = old();
        var second = old();
        awaitOne("one of the old ones leads", List.of(first, second), List.of());

        // the old ones are replaced one by one
        var a = ours("&assignors=range");
        awaitOne("with one of ours, one leads", List.of(first, second), List.of(a));
        first.close();
        awaitOne("with one old one less, one leads", List.of(second), List.of(a));
        var b = ours("&assignors=range");
        awaitOne("with two of ours, one leads", List.of(second), List.of(a, b));
        second.close();
        awaitOne("with none of the old ones, one of ours leads", List.of(), List.of(a, b));
        var token = highest(a, b);

        // then the assignor is taken away, and each is restarted
        a.candidacy().close();
        awaitOne("the other leads while the first is restarted", List.of(), List.of(b));
        var c = ours("");
        b.candidacy().close();
        awaitOne("the first leads while the other is restarted", List.of(), List.of(c));
        var d = ours("");
        var mandate = c.awaitLeads();
        d.awaitFollows(c);
        assertThat(mandate.token()).as("tokens rise").isGreaterThan(token);

        // from now on nobody comes in who knows nothing of claims, and nothing flickers
        var late = old();
        stage.eventually(
                "an old one that comes late is refused", () -> late.said().contains("nconsistent"));
        d.awaitFollows(c);
        c.awaitProven();
        assertThat(c.candidacy().mandate()).contains(mandate);
        assertThat(late.owns()).isFalse();
    }

    private static long highest(Actor... actors) {
        return Stream.of(actors)
                .flatMap(actor -> Optional.of(actor.candidacy().status().token()).stream())
                .mapToLong(token -> token)
                .max()
                .orElseThrow();
    }

    private void awaitOne(String what, List<KcatMember> old, List<Actor> ours) {
        stage.eventually(
                what,
                () -> old.stream().filter(KcatMember::owns).count()
                                + ours.stream().filter(Actor::isLeader).count()
                        == 1);
    }
}
