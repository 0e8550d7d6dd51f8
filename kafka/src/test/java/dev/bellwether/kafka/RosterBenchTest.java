package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Roster;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Never;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.BenchFault;
import dev.bellwether.testkit.faults.Contestant;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import dev.bellwether.testkit.faults.Findings;
import dev.bellwether.testkit.faults.LeadershipSampler;
import dev.bellwether.testkit.faults.OurRosters;
import dev.bellwether.testkit.faults.RoleTerms;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Members of rosters of all three modes, in processes of their own, on three brokers: all that can go wrong between
 * them, while an administrator deletes records and throws members out. Ten minutes with
 * {@code -Dbellwether.bench.seconds=600}.
 */
@Tag("cluster") // three brokers and many processes, which compute
class RosterBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final Path FOLDER = Path.of("target", "faults", "rosters");
    private static final long PATIENCE_SECONDS = 5;
    private static final Duration BURIAL = Duration.ofSeconds(90);

    private final Path folder = FOLDER.resolve(UUID.randomUUID().toString());

    private BenchEnvironment ground() {
        return new RosterGround(FaultBenchTest.ground(), folder);
    }

    private static Setting setting(Class<? extends OurRosters> members) {
        return Setting.of("rosters", LEASE).with(members);
    }

    @Test
    void noFaultMakesTwoLeadersOfOneRole() {
        Findings findings;
        try (var administrator = new Administrator(Long.getLong("bellwether.bench.seed", 1))) {
            findings = FaultBench.run(ground(), setting(OurRosters.class));
            System.out.println("and an administrator deleted records " + administrator.deletions
                    + " times, and threw all members of a group out " + administrator.removals + " times");
        }
        assertThat(findings.overlapNanos())
                .as(Never.mark("two lead one role, in nanoseconds"))
                .isZero();
        var roles = RoleTerms.read(folder);
        print(roles);
        assertThat(roles).hasSize(3 * OurRosters.ROLES);
        assertThat(neverMayBe(roles))
                .as(Never.mark("roles that two lead at once, or tokens that do not rise"))
                .isEmpty();
        assertThat(roles.values()).allMatch(role -> role.count() > 0);
    }

    /** A member that believes in its mandate when that is over, in all its roles, until it is found. */
    @Test
    void aMemberThatGoesOnLeadingAfterItsDeadlineIsFound() throws IOException {
        try (var bench = new FaultBench(ground(), setting(Zombie.class))) {
            bench.startAll();
            var leader = bench.awaitLeader();
            var cut = bench.begin(BenchFault.CUT, leader, LEASE.multipliedBy(2));
            var other = bench.awaitLeaderOtherThan(leader);
            bench.awaitLeads(leader); // at an instant at which the other leads
            bench.awaitLeads(other);
            Eventually.eventually(
                    "it is written down",
                    BURIAL,
                    () -> neverMayBe(RoleTerms.read(folder)).stream().anyMatch(RosterBenchTest::isOverlap));
            Files.createFile(folder.resolve(Zombie.BURIED));
            cut.run();
            bench.awaitAll();
            assertThat(bench.end().faults()).anyMatch(RosterBenchTest::isOverlap);
        }
    }

    private static boolean isOverlap(String fault) {
        return fault.contains("two led at once");
    }

    private static List<String> neverMayBe(Map<String, RoleTerms> roles) {
        var found = new ArrayList<String>();
        roles.forEach((name, role) -> {
            if (!name.startsWith("overlapping")) {
                found.addAll(role.overlaps());
            }
            if (name.startsWith("exclusive")) {
                found.addAll(role.tokensThatDidNotRise());
            }
        });
        return found;
    }

    private static void print(Map<String, RoleTerms> roles) {
        for (var mode : List.of("exclusive", "timed", "overlapping")) {
            var of = roles.entrySet().stream()
                    .filter(role -> role.getKey().startsWith(mode))
                    .map(Map.Entry::getValue)
                    .toList();
            var vacancies = of.stream()
                    .flatMap(role -> role.vacancies().stream())
                    .sorted()
                    .toList();
            System.out.printf(
                    "%-12s %d roles, %d terms, %d ns of overlap, vacant %d times%s%n",
                    mode,
                    of.size(),
                    of.stream().mapToInt(RoleTerms::count).sum(),
                    of.stream().mapToLong(RoleTerms::overlapNanos).sum(),
                    vacancies.size(),
                    vacancies.isEmpty()
                            ? ""
                            : ": median %,d ms, longest %,d ms"
                                    .formatted(
                                            vacancies.get((vacancies.size() - 1) / 2) / 1_000_000,
                                            vacancies.get(vacancies.size() - 1) / 1_000_000));
        }
    }

    /** Three members on three brokers, each of whom is told where to write its terms. */
    private record RosterGround(BenchEnvironment brokers, Path folder) implements BenchEnvironment {
        @Override
        public String describe() {
            return "rosters on " + brokers.describe();
        }

        @Override
        public int places() {
            return brokers.places();
        }

        @Override
        public String uri(int place) {
            return OurRosters.uri(folder, brokers.uri(place));
        }

        @Override
        public String operatorsUri() {
            return brokers.operatorsUri();
        }

        @Override
        public List<FaultProxy> links(int place) {
            return brokers.links(place);
        }

        @Override
        public List<Server> servers() {
            return brokers.servers();
        }

        @Override
        public Server leader() {
            return brokers.leader();
        }

        /** The mode TIMED takes it that clocks agree. */
        @Override
        public boolean clocksMayStep() {
            return false;
        }
    }

    /** Deletes all records of a roster's topic, or throws all members out of a group, every few leases. */
    private static final class Administrator implements AutoCloseable {
        private final Random random;
        private final AtomicBoolean over = new AtomicBoolean();
        private final Thread thread = new Thread(this::run, "administrator");
        private final AtomicInteger deletions = new AtomicInteger();
        private final AtomicInteger removals = new AtomicInteger();

        private Administrator(long seed) {
            random = new Random(seed);
            thread.setDaemon(true);
            thread.start();
        }

        private void run() {
            try (var admin = Admin.create(
                    Map.of("bootstrap.servers", SharedCluster.get().bootstrap(), "request.timeout.ms", 2_000))) {
                while (!over.get()) {
                    try {
                        act(admin);
                    } catch (ExecutionException | TimeoutException e) {
                        // a broker is away, or the group is just changing
                    }
                    var pause = LEASE.multipliedBy(1 + random.nextInt(3));
                    var until = System.nanoTime() + pause.toNanos();
                    Eventually.eventually(
                            "a while", pause.multipliedBy(10), () -> over.get() || System.nanoTime() - until > 0);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void act(Admin admin) throws ExecutionException, TimeoutException, InterruptedException {
            if (random.nextInt(3) == 0) {
                removeMembers(admin);
            } else {
                deleteRecords(admin);
            }
        }

        private void deleteRecords(Admin admin) throws ExecutionException, TimeoutException, InterruptedException {
            var all = new HashMap<TopicPartition, RecordsToDelete>();
            for (var topic : admin.listTopics().names().get(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                if (topic.contains("roster.bench")) {
                    for (var partition = 0; partition < OurRosters.ROLES; partition++) {
                        all.put(new TopicPartition(topic, partition), RecordsToDelete.beforeOffset(-1));
                    }
                }
            }
            admin.deleteRecords(all).all().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            deletions.incrementAndGet();
        }

        private void removeMembers(Admin admin) throws ExecutionException, TimeoutException, InterruptedException {
            var groups = admin
                    .listGroups(ListGroupsOptions.forConsumerGroups())
                    .all()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .stream()
                    .map(GroupListing::groupId)
                    .filter(group -> group.contains("roster.bench"))
                    .sorted()
                    .toList();
            if (!groups.isEmpty()) {
                var group = groups.get(random.nextInt(groups.size()));
                admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions())
                        .all()
                        .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                removals.incrementAndGet();
            }
        }

        @Override
        public void close() {
            over.set(true);
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Goes on leading after its deadline, until it is buried by a file. */
    static final class Zombie extends OurRosters {
        static final String BURIED = "buried";

        private volatile Path burial = Path.of(BURIED);

        Zombie() {}

        @Override
        public Contestant stand(Contestant.Orders orders) throws InterruptedException {
            burial = folder(orders.uri()).resolve(BURIED);
            return super.stand(orders);
        }

        @Override
        protected LeadershipSampler.Subject subject(Roster roster, int role) {
            var subject = super.subject(roster, role);
            return new LeadershipSampler.Subject() {
                private volatile boolean led;

                @Override
                public boolean isLeader() {
                    if (subject.isLeader()) {
                        led = true;
                        return true;
                    }
                    return led && !Files.exists(burial);
                }

                @Override
                public long token() {
                    return subject.token();
                }
            };
        }
    }
}
