package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.Metrics;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.Standing;
import dev.bellwether.testkit.Never;
import dev.bellwether.zookeeper.TreeModel.Planted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * Seats, with their nodes and their proofs, over a {@link TreeModel} in simulated time: connections break, sessions
 * expire or are given up while the server keeps them, loops stop, operators order, nodes of standbys are deleted by
 * hand, rights go and come back. At no time do two lead, tokens rise, and in the end one leads and nothing is left.
 * No server runs.
 */
class QueueModelTest {
    private static final long MILLI = 1_000_000;
    private static final int SEEDS = Integer.getInteger("bellwether.queue.seeds", 1_500);

    private static final String ROOT = "/bellwether";
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final long TICK = 100 * MILLI;
    private static final long STORM = 15_000 * MILLI;
    private static final long CALM = 8_000 * MILLI;

    @Test
    void inAnyHistoryOneLeadsAtMostAndNothingIsLeftBehind() {
        var grants = new long[1];
        var found = LongStream.range(0, SEEDS)
                .mapToObj(seed -> new History(seed, Planted.NOTHING).live(grants))
                .flatMap(Optional::stream)
                .findFirst();
        assertThat(found).as(Never.MARK + "a rule of the queue is broken").isEmpty();
        assertThat(grants[0]).as("grants in " + SEEDS + " histories").isGreaterThan(4L * SEEDS);
    }

    @Test
    void whatIsPlantedIsFound() {
        for (var planted : Planted.values()) {
            if (planted != Planted.NOTHING) {
                var found = LongStream.range(0, SEEDS)
                        .mapToObj(seed -> new History(seed, planted).live(new long[1]))
                        .flatMap(Optional::stream)
                        .findFirst();
                System.out.printf("%s: %s%n", planted, found.orElse("not found"));
                assertThat(found).as(planted.toString()).isPresent();
            }
        }
    }

    /** What happens in one election, from a seed. */
    private static final class History {
        private final long seed;
        private final SplittableRandom random;
        private final ModelTime time = new ModelTime(1_000 * MILLI);
        private final TreeModel tree;
        private final List<Member> members = new ArrayList<>();
        private final List<Tenant> tenants = new ArrayList<>();
        private final TreeModel.Client operator;
        /** All write the same to their nodes: what was lost is told apart by who knows it. */
        private final boolean twins;

        private final StringBuilder story = new StringBuilder();
        private Optional<String> broken = Optional.empty();
        private boolean calm;
        private long highest;
        private long grants;

        private record Member(ModelTime.ProcessLoop loop, TreeModel.Client client, List<QueueSeat> seats) {}

        History(long seed, Planted planted) {
            this.seed = seed;
            random = new SplittableRandom(seed);
            twins = random.nextBoolean();
            tree = new TreeModel(time, random, TICK, planted);
            for (var i = 0; i < 3; i++) {
                var timeout = random.nextBoolean() ? LEASE : LEASE.multipliedBy(2);
                members.add(
                        new Member(time.new ProcessLoop(random), tree.new Client("p" + i, timeout), new ArrayList<>()));
            }
            operator = tree.new Client("operator", Duration.ofHours(1));
        }

        /** Returns what went wrong. */
        Optional<String> live(long[] count) {
            try {
                live();
            } catch (RuntimeException e) {
                if (broken.isEmpty()) {
                    broken = Optional.of("seed " + seed + ": a turn threw " + e + ' '
                            + List.of(e.getStackTrace()).subList(0, 4) + story);
                }
            }
            count[0] += grants;
            members.forEach(member -> OwnNode.forget(member.client().state().id()));
            return broken;
        }

        private void live() {
            for (var member : members) {
                stand(member);
                if (random.nextBoolean()) {
                    stand(member);
                }
            }
            disturb();
            time.run(time.now() + STORM, this::check);
            calm = true;
            tree.refuseDeletions(false);
            members.forEach(member -> member.client().calm());
            time.run(time.now() + CALM, this::check);
            if (tree.has(path() + '/' + Paths.DONE) && !tree.queue(path()).isEmpty()) {
                violate("some stand though the election is over: " + tree.queue(path()));
            }
            if (!somebodyLeads()) { // the election may have ended: a newcomer tells
                var newcomer = stand(members.get(0));
                time.run(time.now() + CALM, this::check);
                if (!somebodyLeads() && !newcomer.ended) {
                    violate("nobody leads though nothing disturbs: " + tree.queue(path()));
                }
            }
            tenants.forEach(Tenant::leave);
            time.run(time.now() + CALM, this::check);
            end();
        }

        private void end() {
            tenants.stream()
                    .filter(tenant -> tenant.farewells != 1)
                    .findFirst()
                    .ifPresent(tenant -> violate(tenant.name + " has left " + tenant.farewells + " times"));
            if (!tree.queue(path()).isEmpty()) {
                violate("left behind: " + tree.queue(path()));
            }
            for (var member : members) {
                var taken = OwnNode.taken(member.client().state().id());
                if (taken > 0) {
                    violate(taken + " nodes are still taken in the session of " + member.client());
                }
            }
        }

        private String path() {
            return ROOT + "/e";
        }

        private boolean somebodyLeads() {
            return tenants.stream().anyMatch(Tenant::leads);
        }

        private void check() {
            var leaders = tenants.stream().filter(Tenant::leads).toList();
            if (leaders.size() > 1) {
                violate("two lead: " + leaders.get(0).name + " and " + leaders.get(1).name);
            }
        }

        private void violate(String what) {
            if (broken.isEmpty()) {
                broken = Optional.of("seed " + seed + ", at " + time.now() / MILLI + " ms: " + what + story);
                throw new IllegalStateException(broken.get());
            }
        }

        private void tell(String what) {
            story.append("\n  ").append(time.now() / MILLI).append(' ').append(what);
        }

        // ---------------------------------------------------------------- what disturbs

        private void disturb() {
            if (calm) {
                return;
            }
            var member = members.get(random.nextInt(members.size()));
            switch (random.nextInt(13)) {
                case 0, 1 -> breakConnection(member, random.nextLong(10 * MILLI));
                case 2, 3 -> breakConnection(member, random.nextLong(300 * MILLI));
                case 4 -> breakConnection(member, random.nextLong(2 * LEASE.toNanos()));
                case 5 -> breakConnection(member, random.nextLong(6 * LEASE.toNanos()));
                case 6 -> {
                    var length = random.nextLong(2 * LEASE.toNanos());
                    tell(member.client() + " stops for " + length / MILLI);
                    member.loop().pause(length);
                }
                case 7 -> deleteStandby();
                case 8, 9 -> order(Order.STAND_DOWN);
                case 10 -> {
                    if (random.nextInt(3) == 0) {
                        order(List.of(Order.END, Order.DELETE, Order.REOPEN).get(random.nextInt(3)));
                    }
                }
                case 11 -> refuseDeletions(random.nextLong(2 * LEASE.toNanos()));
                default -> stand(member);
            }
            time.after(random.nextLong(1_500 * MILLI), this::disturb);
        }

        private void breakConnection(Member member, long outage) {
            if (calm) {
                return;
            }
            tell(member.client() + " is cut off for " + outage / MILLI);
            member.client().disconnect();
            // Curator gives a session up that was without a connection for as long as it lives
            var givesUp = outage > member.client().state().timeout().toNanos() && random.nextBoolean();
            time.after(outage, () -> member.client().reconnect(givesUp));
        }

        private void refuseDeletions(long length) {
            tell("nobody may delete for " + length / MILLI);
            tree.refuseDeletions(true);
            time.after(length, () -> tree.refuseDeletions(false));
        }

        /** One that leads is not deleted: who does that gives its seat away under it. */
        private void deleteStandby() {
            var queue = tree.queue(path());
            if (queue.size() > 1) {
                var node = queue.get(1 + random.nextInt(queue.size() - 1));
                tell("by hand, deleted: " + node);
                tree.deleteByHand(path() + '/' + node);
            }
        }

        private void order(Order order) {
            tell("ordered: " + order);
            NodeRequests.whenDone(new ElectionNodes(operator, path()).order(order), (done, error) -> {});
        }

        // ---------------------------------------------------------------- who stands

        private Tenant stand(Member member) {
            var tenant = new Tenant("c" + tenants.size(), member);
            tenants.add(tenant);
            member.loop().execute(() -> claim(tenant));
            return tenant;
        }

        /** Connections like to break just when a node is being made, whose answer is lost then. */
        private void claim(Tenant tenant) {
            tenant.seat.claim();
            if (!calm && random.nextInt(3) == 0) {
                time.after(
                        random.nextLong(30 * MILLI), () -> breakConnection(tenant.member, random.nextLong(10 * MILLI)));
            }
        }

        /** Does with a seat what a candidacy does, and tells what it hears. */
        private final class Tenant implements Claimant {
            private final String name;
            private final String id;
            private final Member member;
            private final QueueSeat seat;
            private long token;
            private long untilNanos;
            private boolean leads;
            private boolean working;
            private boolean ended;
            private boolean leaving;
            private int farewells;

            Tenant(String name, Member member) {
                this.name = name;
                id = twins ? "twin" : name;
                this.member = member;
                var config = CandidacyConfig.builder()
                        .lease(LEASE)
                        .standDownBudget(Duration.ofMillis(200))
                        .retryInterval(Duration.ofMillis(100 + random.nextInt(200)))
                        .metadata(random.nextBoolean() ? Map.of() : Map.of("zone", "a"))
                        .build();
                var standing = new Standing("e", id, name, config);
                seat = new QueueSeat(
                        standing,
                        this,
                        member.loop(),
                        new ElectionNodes(member.client(), path()),
                        member.client().prover(),
                        true,
                        gone -> {});
            }

            boolean leads() {
                return leads && time.now() < untilNanos;
            }

            private void hear(Runnable report) {
                member.loop().execute(report);
            }

            @Override
            public void granted(long granted, Proof proof) {
                hear(() -> {
                    tell(name + " is granted " + granted);
                    var until = proof.since().nanos() + proof.guarantee().toNanos();
                    if (leaving || working || time.now() >= until) {
                        seat.release();
                        if (!leaving && !working) {
                            claim(this);
                        }
                        return;
                    }
                    grants++;
                    if (granted <= highest) {
                        violate("the token " + granted + " follows " + highest);
                    }
                    highest = granted;
                    token = granted;
                    untilNanos = until;
                    leads = true;
                    working = true;
                    watchDeadline();
                    if (!calm && random.nextInt(3) == 0) {
                        time.after(random.nextLong(LEASE.toNanos()), () -> hear(() -> standDown(200 * MILLI)));
                    }
                });
            }

            private void watchDeadline() {
                var deadline = untilNanos;
                member.loop().at(deadline, () -> {
                    if (leads && untilNanos == deadline) {
                        leads = false;
                        tell(name + " is fenced");
                        seat.concede(Duration.ZERO);
                        endWork();
                    }
                });
            }

            private void standDown(long withinNanos) {
                if (leads) {
                    leads = false;
                    tell(name + " stands down");
                    seat.concede(Duration.ofNanos(withinNanos));
                    endWork();
                }
            }

            private void endWork() {
                member.loop().at(time.now() + random.nextLong(500 * MILLI), () -> {
                    if (working) {
                        working = false;
                        seat.release();
                        if (ended || (!calm && random.nextInt(10) == 0)) {
                            leaveNow();
                        } else if (!leaving) {
                            claim(this);
                        }
                    }
                });
            }

            @Override
            public void proven(long proven, Proof proof) {
                hear(() -> {
                    var until = proof.since().nanos() + proof.guarantee().toNanos();
                    if (leads() && proven == token && until > untilNanos) {
                        untilNanos = until;
                        watchDeadline();
                    }
                });
            }

            @Override
            public void asked(long asked, Cause cause, Duration within) {
                hear(() -> {
                    if (asked == token) {
                        ended |= cause == Cause.ENDED;
                        standDown(within.toNanos());
                    }
                });
            }

            @Override
            public void lost(long lost, Cause cause) {
                hear(() -> {
                    if (lost == token && leads) {
                        tell(name + " has lost it: " + cause);
                        leads = false;
                        endWork();
                    }
                });
            }

            @Override
            public void following(Optional<String> leader) {
                if (twins && leader.filter("twin"::equals).isEmpty()) {
                    violate(name + " follows " + leader);
                }
            }

            @Override
            public void ended() {
                hear(() -> {
                    tell(name + " hears of the end");
                    ended = true;
                    leaveNow();
                });
            }

            void leave() {
                hear(() -> {
                    standDown(200 * MILLI);
                    leaveNow();
                });
            }

            private void leaveNow() {
                if (!leaving) {
                    leaving = true;
                    tell(name + " leaves");
                    member.loop().at(time.now() + (working ? 500 * MILLI : 0), () -> {
                        leads = false;
                        seat.leave();
                    });
                }
            }

            @Override
            public void failed(ElectionException error) {
                violate(name + " failed: " + error);
            }

            @Override
            public void left() {
                farewells++;
                tell(name + " has left");
                if (farewells > 1) {
                    violate(name + " has left twice");
                }
                if (!twins && tree.hasNodeOf(id, path())) {
                    violate(name + " says that nothing of it is there");
                }
            }

            @Override
            public void leftUnconfirmed() {
                farewells++;
                tell(name + " has left, for all it knows");
            }

            @Override
            public void attempted(Metrics.Attempt attempt, Duration latency) {
                // figures do not matter here
            }
        }
    }
}
