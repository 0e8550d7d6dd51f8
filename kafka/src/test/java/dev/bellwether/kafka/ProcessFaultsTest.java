package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.kafka.ContenderProcess.Reign;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Candidates as processes of their own, killed and frozen. */
class ProcessFaultsTest {
    private static final Duration LEASE = Duration.ofSeconds(2);

    /** Where the leader may change for any reason, as long as no two lead at once. */
    private static final Duration SHORT = Duration.ofMillis(600);

    private final String bootstrap = SharedBroker.get().bootstrap();
    private final String election = "billing-" + UUID.randomUUID();
    private final String output = "output-" + UUID.randomUUID();

    @BeforeEach
    void aTopicForTheLeadersOutput() throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(output, 1, (short) 1)))
                    .all()
                    .get();
        }
    }

    private ContenderProcess contender(String id) {
        return contender(id, LEASE);
    }

    private ContenderProcess contender(String id, Duration lease) {
        return new ContenderProcess(bootstrap, election, id, lease, output);
    }

    @Test
    void aKilledOwnersSuccessorLeadsAfterTheSession() {
        try (var one = contender("one")) {
            var token = one.awaitLeads(1);
            try (var two = contender("two")) {
                two.await("event Following");
                var killed = System.nanoTime();
                one.kill();
                assertThat(two.awaitLeads(1)).isGreaterThan(token);
                assertThat(Duration.ofNanos(two.ledSinceNanos(1) - killed))
                        .as("not before the session is over")
                        .isGreaterThan(LEASE.dividedBy(2));
            }
        }
    }

    @Test
    void anOwnerFrozenForThreeSessionsFindsItselfNotLeadingAndCannotCommit() {
        try (var one = contender("one")) {
            var token = one.awaitLeads(1);
            one.command("begin");
            one.await("begun");
            try (var two = contender("two")) {
                two.await("event Following");
                one.pause();
                assertThat(two.awaitLeads(1)).isGreaterThan(token);
                two.command("begin");
                two.await("begun"); // this fences
                two.command("commit");
                two.await("committed");
                Eventually.throughout("frozen", LEASE.multipliedBy(2), () -> true);
                one.resume();
                one.command("commit");
                one.awaitBeginning("refused"); // the zombie's commit
                assertThat(one.said()).doesNotContain("committed");
                one.await("event Fenced");
                two.command("close");
                one.awaitLeadsAfter(1); // a busy machine may have cost either a mandate before
                one.command("close");
                Eventually.eventually(
                        "all is told", Duration.ofSeconds(60), () -> !one.isLeading() && !two.isLeading());
                noTwoAtOnce(one, two);
            }
        }
    }

    @Test
    void ownersFrozenAtRandomNeverLeadTwoAtOnce() {
        try (var one = contender("one", SHORT);
                var two = contender("two", SHORT);
                var three = contender("three", SHORT)) {
            var all = List.of(one, two, three);
            var random = new Random(7);
            Eventually.eventually(
                    "one leads", Duration.ofSeconds(60), () -> leader(all).isPresent());
            for (var round = 0; round < 8; round++) {
                var frozen = Eventually.eventually("one leads", Duration.ofSeconds(60), () -> leader(all));
                frozen.pause();
                Eventually.throughout("frozen", SHORT.plusMillis(random.nextInt(900)), () -> true);
                frozen.resume();
            }
            all.forEach(each -> each.command("close"));
            Eventually.eventually(
                    "all is told", Duration.ofSeconds(60), () -> all.stream().noneMatch(ContenderProcess::isLeading));
            noTwoAtOnce(one, two, three);
        }
    }

    /** The one who began to lead last and has not said that it ended. */
    private static Optional<ContenderProcess> leader(List<ContenderProcess> all) {
        return all.stream()
                .filter(ContenderProcess::isLeading)
                .max(Comparator.comparingLong(each -> each.ledSinceNanos(each.timesLed())));
    }

    private static void noTwoAtOnce(ContenderProcess... contenders) {
        var reigns = new ArrayList<Reign>();
        for (var contender : contenders) {
            reigns.addAll(contender.reigns());
        }
        reigns.sort(Comparator.comparingLong(Reign::first));
        System.out.println("reigns: " + reigns.size());
        for (var i = 1; i < reigns.size(); i++) {
            assertThat(reigns.get(i).first())
                    .as(Never.mark("two led at once: " + reigns.get(i) + " beside " + reigns.get(i - 1)))
                    .isGreaterThan(reigns.get(i - 1).last());
        }
    }
}
