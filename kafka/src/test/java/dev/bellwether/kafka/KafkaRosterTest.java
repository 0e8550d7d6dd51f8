package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.RosterMode;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Moment;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.LeadershipAuditor;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.OutageCount;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rosters on a real broker: 1,000 roles on 64 partitions, members that come, go, and are cut off. */
class KafkaRosterTest {
    private static final int ROLES = 1_000;
    private static final int PARTITIONS = 64;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    /** A member proves itself in so many steps, each of which a stall may hold up, before its session is over. */
    private static final int STALLS = 10;

    private final String name = "roster-" + UUID.randomUUID();
    private final List<Elections> open = new ArrayList<>();

    @AfterEach
    void close() {
        open.forEach(Elections::close);
    }

    private Roster join(RosterConfig config) {
        return join(name, config);
    }

    private Roster join(String roster, RosterConfig config) {
        var elections = Elections.connect(SharedBroker.uri(), ElectionsConfig.defaults());
        open.add(elections);
        return elections.roster(roster, config);
    }

    private static RosterConfig.Builder config() {
        return RosterConfig.builder().roles(ROLES).partitions(PARTITIONS).lease(Duration.ofSeconds(3));
    }

    private static long partitions(Roster roster) {
        return roster.roles().stream().map(role -> role % PARTITIONS).distinct().count();
    }

    private static void awaitShare(List<Roster> members) {
        Eventually.eventually(
                "everybody has his share",
                PATIENCE,
                () -> members.stream().allMatch(member -> partitions(member) == PARTITIONS / members.size()));
    }

    private static int leaders(List<Roster> members, int role) {
        return (int) members.stream().filter(member -> member.leads(role)).count();
    }

    @Test
    void brokersThatTakeNoRecordsAreAnOutageUntilTheyDo() throws Exception {
        var outages = new OutageCount();
        var elections = Elections.connect(
                SharedBroker.uri(), ElectionsConfig.builder().metrics(outages).build());
        open.add(elections);
        var member = elections.roster(
                name,
                RosterConfig.builder()
                        .roles(4)
                        .partitions(2)
                        .lease(Duration.ofSeconds(3))
                        .build());
        assertThat(member.await(4, PATIENCE)).isTrue();
        try (var admin =
                Admin.create(Map.of("bootstrap.servers", SharedBroker.get().bootstrap()))) {
            cleanUp(admin, "compact"); // so it refuses what has no key
            Eventually.eventually("the outage is told", PATIENCE, outages::isOut);
            Eventually.eventually(
                    "nothing is led", PATIENCE, () -> member.roles().isEmpty());
            assertThat(outages.began()).isOne();
            cleanUp(admin, "delete");
        }
        Eventually.eventually("its end is told", PATIENCE, () -> !outages.isOut());
        assertThat(member.await(4, PATIENCE)).isTrue();
        assertThat(outages.began()).isOne();
    }

    private void cleanUp(Admin admin, String policy) throws Exception {
        var topic = RosterTopic.name(Settings.of(Map.of("bootstrap.servers", "unused:9092")), name);
        var change = new AlterConfigOp(new ConfigEntry("cleanup.policy", policy), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), List.of(change)))
                .all()
                .get();
    }

    @Test
    void aThousandRolesAreSharedAndNoTwoMembersLeadOne() throws InterruptedException {
        var members = new CopyOnWriteArrayList<Roster>();
        var overlaps = new AtomicInteger();
        var watch = new Watch(() -> {
            var present = List.copyOf(members);
            for (var role = 0; role < PARTITIONS; role++) {
                if (leaders(present, role) > 1) {
                    overlaps.incrementAndGet();
                }
            }
        });
        members.add(join(config().build()));
        assertThat(members.get(0).await(ROLES, PATIENCE)).isTrue();
        var token = members.get(0).mandate(5).orElseThrow().token();
        watch.start();
        members.add(join(config().build()));
        awaitShare(members);
        members.add(join(config().build()));
        members.add(join(config().build()));
        awaitShare(members);
        var kept = members.get(1).roles();
        members.remove(3).close();
        Eventually.eventually(
                "all roles are led",
                PATIENCE,
                () -> members.stream().mapToInt(member -> member.roles().size()).sum() == ROLES);
        assertThat(members.get(1).roles()).as("whoever stays keeps what he has").containsAll(kept);
        watch.end();
        assertThat(overlaps).as(Never.mark("two members lead one role")).hasValue(0);
        members.get(0).close();
        members.get(1).close();
        assertThat(members.get(2).await(ROLES, PATIENCE)).isTrue();
        assertThat(members.get(2).mandate(5).orElseThrow().token()).isGreaterThanOrEqualTo(token);
    }

    @Test
    void theRolesOfAMemberThatIsCutOffAreLedByOthers() throws InterruptedException {
        var brokers = new KafkaInfrastructure(SharedBroker.get());
        var linked = brokers.connectLinked(ElectionsConfig.defaults());
        open.add(linked.elections());
        var cut = linked.elections().roster(name, config().build());
        var other = join(config().build());
        awaitShare(List.of(cut, other));
        linked.link().cut();
        assertThat(other.await(ROLES, PATIENCE)).isTrue();
        assertThat(cut.roles()).isEmpty();
        linked.link().heal();
        awaitShare(List.of(cut, other));
    }

    @Test
    void leadersOfTwoGroupsDoNotFenceEachOthersProducers() throws InterruptedException {
        var strings = new StringSerializer();
        var properties = Map.of("bootstrap.servers", SharedBroker.get().bootstrap());
        var few = config().roles(2).partitions(1);
        var first = join(few.group("a").build());
        var second = join(few.group("b").build());
        assertThat(first.await(2, PATIENCE)).isTrue();
        assertThat(second.await(2, PATIENCE)).isTrue();
        try (var out = KafkaElections.fencedProducer(first.mandate(1).orElseThrow(), 1, properties, strings, strings);
                var other = KafkaElections.fencedProducer(
                        second.mandate(1).orElseThrow(), 1, properties, strings, strings)) {
            for (var producer : List.of(out, other)) {
                producer.beginTransaction();
                var unused = producer.send(new ProducerRecord<>(name + "-out", "written"));
                producer.commitTransaction();
            }
        }
    }

    /** Its release is the last that it writes, and its consumer is closed by then. */
    @Test
    void theRolesOfAMemberThatBrokeOffAreLedByOthersBeforeALeaseHasRunOut() throws InterruptedException {
        var lease = Duration.ofSeconds(60);
        var loop = new BrittleLoop();
        var elections = Elections.connect(
                SharedBroker.uri(), ElectionsConfig.builder().loop(loop).build());
        open.add(elections);
        var breaking = elections.roster(name, config().lease(lease).build());
        assertThat(breaking.await(ROLES, PATIENCE)).isTrue();
        var other = join(config().lease(lease).build());
        awaitShare(List.of(breaking, other));
        loop.breaks.set(true);
        assertThatThrownBy(breaking::awaitClose).hasMessageContaining("failed inside");
        assertThat(other.await(ROLES, lease.dividedBy(2))).isTrue();
    }

    /** Its clock throws once, when it is told to: so does the turn that reads it. */
    private static final class BrittleLoop implements Loop {
        private final ScheduledThreadPoolExecutor thread = new ScheduledThreadPoolExecutor(1);
        private final AtomicBoolean breaks = new AtomicBoolean();
        private final SplittableRandom random = new SplittableRandom();

        @Override
        public Clock clock() {
            var system = Clock.system();
            return new Clock() {
                @Override
                public long nanos() {
                    return system.nanos();
                }

                @Override
                public long wallMillis() {
                    return system.wallMillis();
                }

                @Override
                public Moment now() {
                    if (breaks.compareAndSet(true, false)) {
                        throw new AssertionError("planted");
                    }
                    return Clock.super.now();
                }
            };
        }

        @Override
        public RandomGenerator random() {
            return random;
        }

        @Override
        public void execute(Runnable turn) {
            thread.execute(turn);
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            var due = thread.schedule(turn, nanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            return () -> due.cancel(false);
        }

        @Override
        public void close() {
            thread.shutdownNow();
        }
    }

    /** Who gives a role up leads on for a time, in which a busy machine, too, must get its next owner to lead. */
    @Test
    void overlappingRolesAreNeverVacantWhileMembersComeAndGo() throws InterruptedException {
        var config = config().roles(PARTITIONS)
                .mode(RosterMode.OVERLAPPING)
                .threshold(Duration.ofSeconds(12))
                .build();
        var first = join(config);
        assertThat(first.await(PARTITIONS, PATIENCE)).isTrue();
        var second = join(config);
        var gaps = new AtomicInteger();
        var watch = new Watch(() -> {
            for (var role = 0; role < PARTITIONS; role++) {
                // asked in this order, and once more, since a role may move between the two questions
                if (!first.leads(role) && !second.leads(role) && !first.leads(role) && !second.leads(role)) {
                    gaps.incrementAndGet();
                }
            }
        });
        watch.start();
        awaitShare(List.of(first, second));
        second.close();
        assertThat(first.await(PARTITIONS, PATIENCE)).isTrue();
        watch.end();
        assertThat(gaps).hasValue(0);
    }

    @Test
    void timedRolesAreLedByOneAfterTheGracePeriod() throws InterruptedException {
        var config = config().roles(8).partitions(8).mode(RosterMode.TIMED).build();
        var first = join(config);
        assertThat(first.await(8, PATIENCE)).isTrue();
        var second = join(config);
        var lastByFirst = new long[8];
        var firstBySecond = new AtomicLongArray(8); // zero until then
        var overlaps = new AtomicInteger();
        var watch = new Watch(() -> {
            for (var role = 0; role < 8; role++) {
                var before = System.nanoTime();
                var led = first.leads(role);
                if (led) {
                    lastByFirst[role] = before;
                }
                if (second.leads(role)) {
                    overlaps.addAndGet(led && first.leads(role) ? 1 : 0);
                    firstBySecond.compareAndSet(role, 0, System.nanoTime());
                }
            }
        });
        watch.start();
        Eventually.eventually(
                "half each, and the watch has seen it",
                PATIENCE,
                () -> first.roles().size() == 4
                        && second.roles().size() == 4
                        && second.roles().stream().allMatch(role -> firstBySecond.get(role) != 0));
        watch.end();
        assertThat(overlaps).as(Never.mark("two members lead one role")).hasValue(0);
        assertThat(first.roles()).doesNotContainAnyElementsOf(second.roles());
        assertThat(second.roles())
                .allSatisfy(role -> assertThat(firstBySecond.get(role) - lastByFirst[role])
                        .as("role %s was vacant for the grace period, in nanoseconds", role)
                        .isGreaterThanOrEqualTo(config.gracePeriod().toNanos()));
    }

    /**
     * Work that takes nearly all of the stand-down budget, on a member whose other roles stay: those must be proven
     * meanwhile.
     */
    @Test
    void aSlowOrderlyMoveCostsTheRolesThatStayNothing() throws InterruptedException {
        var never = new CountDownLatch(1);
        var fenced = new CopyOnWriteArrayList<RosterEvent>();
        var config = RosterConfig.builder()
                .roles(8)
                .partitions(8)
                .lease(Duration.ofSeconds(6))
                .standDownBudget(Duration.ofMillis(2_800))
                .listener(event -> {
                    if (event instanceof RosterEvent.Revoked) {
                        await(never, Duration.ofMillis(2_600));
                    } else if (event instanceof RosterEvent.Fenced) {
                        fenced.add(event);
                    }
                })
                .build();
        var first = join(config);
        assertThat(first.await(8, PATIENCE)).isTrue();
        for (var i = 0; i < 3; i++) {
            var second = join(config);
            assertThat(second.await(4, PATIENCE)).isTrue();
            second.close();
            assertThat(first.await(8, PATIENCE)).isTrue();
        }
        assertThat(fenced).isEmpty();
    }

    /** As long as nothing counts it down. */
    private static void await(CountDownLatch never, Duration time) {
        try {
            assertThat(never.await(time.toNanos(), TimeUnit.NANOSECONDS)).isFalse();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    @Timeout(180)
    void aMemberOfAnotherModeIsRefusedAndDisturbsNobody() throws InterruptedException {
        var disturbed = new CopyOnWriteArrayList<RosterEvent>();
        var config = config().lease(Duration.ofSeconds(30)).build(); // which a busy machine does not cost it
        var first = join(config.toBuilder()
                .listener(event -> {
                    if (event instanceof RosterEvent.Revoked || event instanceof RosterEvent.Fenced) {
                        disturbed.add(event);
                    }
                })
                .build());
        assertThat(first.await(ROLES, PATIENCE)).isTrue();
        var second = join(config.toBuilder().mode(RosterMode.OVERLAPPING).build());
        assertThatThrownBy(second::awaitClose)
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("has mode OVERLAPPING")
                .hasMessageContaining("have EXCLUSIVE");
        assertThat(second.roles()).isEmpty();
        assertThat(first.roles()).hasSize(ROLES);
        assertThat(disturbed).isEmpty();
    }

    /**
     * Whatever the machine makes of the pace: they are led by one at a time, and by the other when that one has left.
     */
    @ParameterizedTest
    @ValueSource(ints = {100, 300})
    void rolesOfShortSessionsAreLedByOneAtATime(int millis) throws InterruptedException {
        var lease = Duration.ofMillis(millis);
        while (!areLedByOneAtATime(lease)) {
            System.out.println("note: this machine stalls for too long for sessions of " + lease.toMillis() + " ms");
            lease = lease.multipliedBy(2);
        }
    }

    /** Returns whether they are led; not if this machine stalls so long that members of such sessions cannot lead. */
    private boolean areLedByOneAtATime(Duration lease) throws InterruptedException {
        var roster = name + '-' + lease.toMillis();
        var config = config().roles(4).partitions(4).lease(lease).build();
        try (var machine = new LeadershipAuditor()) {
            var first = join(roster, config);
            var second = new AtomicReference<Roster>();
            var overlaps = new AtomicInteger();
            var watch = new Watch(() -> {
                var other = second.get();
                for (var role = 0; role < 4 && other != null; role++) {
                    // the first question once more: a role may move between the two
                    if (first.leads(role) && other.leads(role) && first.leads(role)) {
                        overlaps.incrementAndGet();
                    }
                }
            });
            watch.start();
            var led = comesAbout("the first leads all", lease, machine, () -> leadsAll(first));
            if (led) {
                var other = join(roster, config);
                second.set(other);
                led = comesAbout(
                        "the second leads some",
                        lease,
                        machine,
                        () -> !other.roles().isEmpty());
                first.close();
                led = led && comesAbout("the second leads all", lease, machine, () -> leadsAll(other));
                other.close();
            }
            first.close();
            watch.end();
            assertThat(overlaps).as(Never.mark("two members lead one role")).hasValue(0);
            return led;
        }
    }

    private static boolean leadsAll(Roster member) {
        return member.roles().size() == 4;
    }

    /** Waits for it; not to the end of our patience if this machine stalls for too long for such sessions. */
    private static boolean comesAbout(
            String what, Duration lease, LeadershipAuditor machine, BooleanSupplier condition) {
        var until = System.nanoTime() + PATIENCE.dividedBy(4).toNanos();
        return Eventually.eventually(what, PATIENCE, () -> {
            if (condition.getAsBoolean()) {
                return Optional.of(true);
            }
            var stalls = machine.longestRoundNanos() > lease.toNanos() / STALLS;
            return stalls && System.nanoTime() - until > 0 ? Optional.of(false) : Optional.empty();
        });
    }

    /** Looks at something again and again, on a thread whose end by an error is not overlooked. */
    private static final class Watch {
        private final AtomicBoolean over = new AtomicBoolean();
        private final AtomicReference<Throwable> death = new AtomicReference<>();
        private final AtomicLong looks = new AtomicLong();
        private final Thread thread;

        private Watch(Runnable look) {
            thread = new Thread(
                    () -> {
                        while (!over.get()) {
                            look.run();
                            looks.incrementAndGet();
                        }
                    },
                    "watch");
            thread.setDaemon(true);
            thread.setUncaughtExceptionHandler((dead, error) -> death.set(error));
        }

        private void start() {
            thread.start();
        }

        private void end() throws InterruptedException {
            over.set(true);
            thread.join();
            assertThat(death.get()).isNull();
            assertThat(looks.get()).isPositive();
        }
    }

    @Test
    void withOneWholeGroupDeadEveryRoleHasALeaderStill() throws InterruptedException {
        var a = join(config().group("a").groups(2).mode(RosterMode.OVERLAPPING).build());
        var b = join(config().group("b").groups(2).mode(RosterMode.OVERLAPPING).build());
        assertThat(a.await(ROLES, PATIENCE)).isTrue();
        assertThat(b.await(ROLES, PATIENCE)).isTrue();
        b.resign();
        Eventually.eventually("b is gone", PATIENCE, () -> b.roles().isEmpty());
        assertThat(a.roles()).hasSize(ROLES);
    }

    @Test
    void anotherNumberOfPartitionsIsRefused() {
        join(config().build());
        assertThatThrownBy(() -> join(config().partitions(65).build()))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("has 64 partitions")
                .hasMessageContaining("asked for 65");
    }
}
