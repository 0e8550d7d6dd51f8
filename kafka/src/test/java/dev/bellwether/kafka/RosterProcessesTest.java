package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.RosterMode;
import dev.bellwether.kafka.RosterProcess.Setting;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * 1,000 roles on 64 partitions, shared by members that are processes of their own: killed, frozen, joining, leaving,
 * and all at work.
 */
@Tag("full") // three brokers and many processes, which compute
class RosterProcessesTest {
    private static final int PARTITIONS = 64;
    private static final int ROLES = 1_000;
    private static final Duration SESSION = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    /**
     * A stall of the machine can cost a healthy member its mandates, as it should: then what was looked at is looked at
     * again, so many times. If it stalls each time, nothing was shown, and that is a failure.
     */
    private static final int ATTEMPTS = 8;

    private final Setting setting = new Setting(
            SharedBroker.get().bootstrap(),
            "pricing-" + UUID.randomUUID(),
            SESSION,
            RosterMode.EXCLUSIVE,
            PARTITIONS,
            ROLES);
    private final List<RosterProcess> all = new ArrayList<>();
    private final List<RosterProcess> members = new ArrayList<>();
    private int serial;

    @AfterEach
    void end() {
        all.forEach(RosterProcess::close);
    }

    private RosterProcess join() {
        var member = new RosterProcess(setting, "main", "m" + ++serial);
        all.add(member);
        members.add(member);
        return member;
    }

    private static long partitions(RosterProcess member) {
        return member.roles().stream().map(role -> role % PARTITIONS).distinct().count();
    }

    /**
     * Waits until every role is led and nobody has more than one partition more than another; returns an instant at
     * which it is so.
     */
    private long settled(int roles) {
        return RosterProcess.eventually("all is led and shared evenly", PATIENCE, members, () -> {
            var led = members.stream().mapToInt(member -> member.roles().size()).sum();
            var shares =
                    members.stream().mapToLong(RosterProcessesTest::partitions).summaryStatistics();
            return led == roles && shares.getMax() - shares.getMin() <= 1 ? Optional.of(now()) : Optional.empty();
        });
    }

    /** Returns an instant up to which it is known who led what. */
    private long now() {
        var now = System.nanoTime();
        Eventually.eventually(
                "all have told", PATIENCE, () -> members.stream().allMatch(member -> member.aliveNanos() > now));
        return now;
    }

    /** Returns whether the machine stood still and a member lost its mandates for that. */
    private boolean disturbed(long from, long to) {
        var fenced = all.stream()
                .flatMap(member -> member.heard(from, to).stream())
                .anyMatch(heard -> heard.what().equals("Fenced"));
        var stalled = all.stream().anyMatch(member -> !member.stalls(from, to).isEmpty());
        if (fenced && stalled) {
            System.out.println("  (a member was fenced, since the machine stood still)");
        }
        return fenced && stalled;
    }

    /** Returns what each member heard between two instants, of partitions only, and who stood still, for messages. */
    private String heard(long from, long to) {
        var told = new StringBuilder();
        for (var member : all) {
            for (var stall : member.stalls(from, to)) {
                told.append("\n%s %s stands still until %s".formatted(stall.from(), member.id(), stall.to()));
            }
            for (var heard : member.heard(from, to)) {
                var partitions = heard.roles().stream().map(role -> role % PARTITIONS);
                told.append("\n%s %s %s %s"
                        .formatted(
                                heard.nanos(),
                                member.id(),
                                heard.what(),
                                partitions.distinct().sorted().toList()));
            }
        }
        return told.append('\n').toString();
    }

    /** Prints what became of the roles between two instants, and returns the roles that moved. */
    private List<Integer> report(String what, int roles, long from, long to) {
        var reigns = new Reigns(all);
        var moved = reigns.moved(roles, from, to);
        var vacant = reigns.gaps(roles, from, to).stream()
                .map(Reigns.Gap::millis)
                .sorted()
                .toList();
        System.out.printf(
                "%-28s %4d roles moved, in %2d partitions; %4d were vacant for a while%s%n",
                what,
                moved.size(),
                moved.stream().map(role -> role % PARTITIONS).distinct().count(),
                vacant.size(),
                vacant.isEmpty()
                        ? ""
                        : ": p50 %d ms, p99 %d ms, longest %d ms"
                                .formatted(
                                        vacant.get(vacant.size() / 2),
                                        vacant.get(vacant.size() * 99 / 100),
                                        vacant.get(vacant.size() - 1)));
        return moved;
    }

    /** Those who stay lead on what they keep, all the while; only what the newcomer gets, or the leaver had, moves. */
    private void aNewcomerAndALeaverDisturbNobody() {
        for (var attempt = 1; ; attempt++) {
            var incumbents = List.copyOf(members);
            var before = settled(ROLES);
            var newcomer = join();
            var joined = settled(ROLES);
            newcomer.leave();
            members.remove(newcomer);
            assertThat(newcomer.ends()).as("the leaver ends").isTrue();
            var left = settled(ROLES);
            var moved = report("a fifth joins", ROLES, before, joined);
            var back = report("it leaves", ROLES, joined, left);
            var reigns = new Reigns(all);
            var flickered = new ArrayList<>(reigns.flickered(ROLES, before, joined));
            flickered.addAll(reigns.flickered(ROLES, joined, left));
            if (disturbed(before, left)) {
                assertThat(attempt)
                        .as("the machine stood still each time, so that nothing was shown")
                        .isLessThan(ATTEMPTS);
                continue;
            }
            assertThat(reigns.vacantTwice(ROLES, before, joined))
                    .as(() -> "a newcomer claims as soon as it is given something: no role is vacant twice"
                            + heard(before, joined))
                    .isEmpty();
            assertThat(flickered)
                    .as("roles that stayed, and were not led all the while")
                    .isEmpty();
            assertThat(moved)
                    .allSatisfy(role -> assertThat(
                                    reigns.at(role, joined).orElseThrow().who())
                            .isEqualTo(newcomer.id()));
            assertThat(back)
                    .allSatisfy(role -> assertThat(
                                    reigns.at(role, joined).orElseThrow().who())
                            .isEqualTo(newcomer.id()));
            assertThat(List.of(distinct(moved), distinct(back)))
                    .as("moved partitions, of which a fifth is 12.8")
                    .allMatch(count -> count == 12 || count == 13);
            assertThat(incumbents).isEqualTo(members);
            return;
        }
    }

    private static long distinct(List<Integer> roles) {
        return roles.stream().map(role -> role % PARTITIONS).distinct().count();
    }

    private void rolesAreAddedAndRemovedAndNoneOfTheOthersFeelsIt() {
        for (var attempt = 1; ; attempt++) {
            var before = settled(ROLES);
            members.forEach(member -> member.resize(1_300));
            var more = settled(1_300);
            members.forEach(member -> member.resize(700));
            var fewer = settled(700);
            members.forEach(member -> member.resize(ROLES));
            var after = settled(ROLES);
            var reigns = new Reigns(all);
            var added = reigns.gaps(1_300, before, more).stream()
                    .filter(gap -> gap.role() >= ROLES)
                    .mapToLong(Reigns.Gap::millis)
                    .max();
            System.out.printf(
                    "1,000 -> 1,300 -> 700 -> 1,000: %d roles moved; the 300 were led %d ms after the order at the latest%n",
                    reigns.moved(700, before, after).size(), added.orElse(0));
            if (disturbed(before, after)) {
                assertThat(attempt)
                        .as("the machine stood still each time, so that nothing was shown")
                        .isLessThan(ATTEMPTS);
                continue;
            }
            assertThat(reigns.moved(700, before, after)).isEmpty();
            assertThat(reigns.gaps(700, before, after)).isEmpty();
            for (var role = 700; role < 1_300; role++) {
                assertThat(reigns.at(role, fewer)).as("role %s is none", role).isEmpty();
            }
            return;
        }
    }

    private void theRolesOfAKilledMemberAreLedByOthers() {
        var before = settled(ROLES);
        var victim = members.remove(1);
        var had = victim.roles();
        victim.kill();
        var after = settled(ROLES);
        var moved = report("one of four is killed", ROLES, before, after);
        assertThat(moved).containsAll(had);
        join();
        report("another joins", ROLES, after, settled(ROLES));
    }

    private void aFrozenMemberLeadsNothingWhenItWakes() {
        var before = settled(ROLES);
        var frozen = members.remove(2);
        var had = frozen.roles();
        frozen.pause();
        var after = settled(ROLES);
        var moved = report("one of four is frozen", ROLES, before, after);
        assertThat(moved).containsAll(had);
        members.add(frozen);
        frozen.resume();
        report("it goes on", ROLES, after, settled(ROLES));
    }

    @Test
    void noTwoLeadOneRoleWhateverBecomesOfTheMembers() {
        for (var i = 0; i < 4; i++) {
            join();
        }
        settled(ROLES);
        aNewcomerAndALeaverDisturbNobody();
        rolesAreAddedAndRemovedAndNoneOfTheOthersFeelsIt();
        theRolesOfAKilledMemberAreLedByOthers();
        aFrozenMemberLeadsNothingWhenItWakes();
        members.forEach(RosterProcess::leave);
        assertThat(members).allMatch(RosterProcess::ends);
        var reigns = new Reigns(all);
        System.out.println("reigns: " + reigns.count());
        assertThat(reigns.overlaps())
                .as(Never.mark("two members lead one role"))
                .isEmpty();
        assertThat(reigns.tokensThatDidNotRise())
                .as(Never.mark("a token did not rise"))
                .isEmpty();
        assertThat(members)
                .as("every member worked")
                .allMatch(member -> member.words().stream()
                        .anyMatch(word -> word.startsWith("closed after ") && !word.startsWith("closed after 0 ")));
    }
}
