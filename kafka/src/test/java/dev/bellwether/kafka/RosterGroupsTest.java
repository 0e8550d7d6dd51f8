package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.RosterMode;
import dev.bellwether.kafka.RosterProcess.Setting;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Continuous availability: two groups of members, each with a leader for every role, and one of the groups dead. */
@Tag("full") // three brokers and many processes, which compute
class RosterGroupsTest {
    private static final int ROLES = 200;
    private static final Duration SESSION = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private final String name = "pricing-" + UUID.randomUUID();
    private final List<RosterProcess> all = new ArrayList<>();

    @AfterEach
    void end() {
        all.forEach(RosterProcess::close);
    }

    private RosterProcess join(KafkaBrokers brokers, String group, String id) {
        var setting = new Setting(brokers.bootstrap(), name, SESSION, RosterMode.OVERLAPPING, 32, ROLES);
        var member = new RosterProcess(setting, group, id);
        all.add(member);
        return member;
    }

    private static void awaitAll(RosterProcess... group) {
        RosterProcess.eventually("a group leads every role", PATIENCE, List.of(group), () -> {
            var led = new TreeSet<Integer>();
            for (var member : group) {
                if (member.roles().isEmpty()) {
                    return Optional.empty(); // it has no share yet
                }
                led.addAll(member.roles());
            }
            return led.size() == ROLES ? Optional.of(led) : Optional.empty();
        });
    }

    /** Returns an instant up to which it is known who led what. */
    private static long now(RosterProcess... living) {
        var now = System.nanoTime();
        Eventually.eventually(
                "all have told",
                PATIENCE,
                () -> List.of(living).stream().allMatch(member -> member.aliveNanos() > now));
        return now;
    }

    private void noGap(long from, long to) {
        System.out.printf("%d roles, watched for %d ms%n", ROLES, (to - from) / 1_000_000);
        assertThat(new Reigns(all).gaps(ROLES, from, to))
                .as("times without a leader")
                .isEmpty();
    }

    @Test
    void withAWholeGroupDeadEveryRoleHasALeaderWithoutAGap() {
        var broker = SharedBroker.get();
        var a1 = join(broker, "a", "a1");
        var a2 = join(broker, "a", "a2");
        var b1 = join(broker, "b", "b1");
        var b2 = join(broker, "b", "b2");
        awaitAll(a1, a2);
        awaitAll(b1, b2);
        var from = now(a1, a2, b1, b2);
        b1.kill();
        b2.kill();
        a2.leave(); // even now one may be exchanged for another, in order
        assertThat(a2.ends()).isTrue();
        awaitAll(a1);
        var b3 = join(broker, "b", "b3");
        awaitAll(b3);
        now(a1); // what the dead have led is known until they were last heard
        a1.kill();
        noGap(from, now(b3));
    }

    @Test
    void withAWholeClusterDeadEveryRoleHasALeaderWithoutAGap() {
        try (var second = KafkaBrokers.start(1, 0, Map.of())) {
            var a = join(SharedBroker.get(), "a", "a");
            var b = join(second, "b", "b");
            awaitAll(a);
            awaitAll(b);
            var from = now(a, b);
            second.broker(1).kill();
            Eventually.eventually("b leads nothing", PATIENCE, () -> b.roles().isEmpty());
            second.broker(1).start();
            awaitAll(b);
            now(a);
            a.kill();
            noGap(from, now(b));
        }
    }
}
