package dev.bellwether.testkit.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What a bench asks of itself, shown by a candidate that needs no server, since it stands alone. */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(300);
    /** In half of it a first order must be answered. */
    private static final Duration LONGER = Duration.ofSeconds(2);

    private static final Duration TIME = Duration.ofSeconds(1);

    /** It leads as long as its process runs, under a token that rises from process to process. */
    static final class Alone implements Contestant.Maker {
        @Override
        public Contestant stand(Contestant.Orders orders) {
            return new Standing(System.nanoTime());
        }
    }

    /** It leads until it is closed. */
    private static final class Standing implements Contestant {
        private final long token;
        private volatile boolean closed;

        private Standing(long token) {
            this.token = token;
        }

        @Override
        public boolean isLeader() {
            return !closed;
        }

        @Override
        public long token() {
            return token;
        }

        @Override
        public void close() {
            closed = true;
        }
    }

    /** It leads on though it was closed, as who gives up to close when interrupted. */
    static final class LeadsOn implements Contestant.Maker {
        @Override
        public Contestant stand(Contestant.Orders orders) {
            var standing = new Standing(System.nanoTime());
            return new Contestant() {
                @Override
                public boolean isLeader() {
                    return standing.isLeader();
                }

                @Override
                public long token() {
                    return standing.token();
                }

                @Override
                public void close() {
                    if (!Thread.currentThread().isInterrupted()) {
                        standing.close();
                    }
                }
            };
        }
    }

    /** It leads for a moment, and never again. */
    static final class LeadsOnce implements Contestant.Maker {
        @Override
        public Contestant stand(Contestant.Orders orders) {
            var until = System.nanoTime() + LEASE.multipliedBy(10).toNanos(); // so that a busy bench sees it lead
            return new Contestant() {
                @Override
                public boolean isLeader() {
                    return System.nanoTime() - until < 0;
                }

                @Override
                public long token() {
                    return until;
                }

                @Override
                public void close() {}
            };
        }
    }

    /** It leads, and its process ends when it is told to leave, before it has left. */
    static final class Ends implements Contestant.Maker {
        @Override
        public Contestant stand(Contestant.Orders orders) {
            var standing = new Standing(System.nanoTime());
            return new Contestant() {
                @Override
                public boolean isLeader() {
                    return standing.isLeader();
                }

                @Override
                public long token() {
                    return standing.token();
                }

                @Override
                public void close() {
                    Runtime.getRuntime().halt(3);
                }
            };
        }
    }

    /** The first of them leads, and no other. */
    static final class OneOnly implements Contestant.Maker {
        @Override
        public Contestant stand(Contestant.Orders orders) {
            var standing = new Standing(System.nanoTime());
            if (!orders.candidate().equals("ann")) {
                standing.close();
            }
            return standing;
        }
    }

    /** Places for some, and records to be hurt, if there are any. */
    private record Rooms(int places, Optional<Records> records) implements BenchEnvironment {
        private Rooms(int places) {
            this(places, Optional.empty());
        }

        @Override
        public String describe() {
            return "nothing";
        }

        @Override
        public String uri(int place) {
            return operatorsUri();
        }

        @Override
        public String operatorsUri() {
            return "memory:bench";
        }
    }

    /** A place for one. */
    private record Room(Least atLeast) implements BenchEnvironment {
        @Override
        public String describe() {
            return "nothing";
        }

        @Override
        public int places() {
            return 1;
        }

        @Override
        public String uri(int place) {
            return operatorsUri();
        }

        @Override
        public String operatorsUri() {
            return "memory:bench";
        }
    }

    private static Findings run(BenchEnvironment.Least least) {
        return FaultBench.run(new Room(least), Setting.of("alone", LEASE).with(Alone.class), TIME, 1);
    }

    @Test
    void aRunThatDoesWhatItMustPasses() {
        assertThat(run(new BenchEnvironment.Least(60, 60)).terms()).isNotEmpty();
    }

    @Test
    void aRunWithFewerFaultsThanItMustHaveFails() {
        assertThatThrownBy(() -> run(new BenchEnvironment.Least(1_000_000, 0)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("show nothing: at least 16666 faults and 2 terms are needed");
    }

    @Test
    void whoLeadsOnWhenItsCloserIsInterruptedIsFound() {
        var setting = Setting.of("leads-on", LEASE).with(LeadsOn.class);
        try (var bench = new FaultBench(new Room(new BenchEnvironment.Least(0, 0)), setting)) {
            bench.startAll();
            var leaving = bench.begin(BenchFault.LEAVE_INTERRUPTED, 0, LEASE);
            leaving.run();
            bench.awaitAll();
            assertThat(bench.end().faults())
                    .singleElement()
                    .asString()
                    .startsWith("NEVER: ")
                    .contains("it leads a lease after it was closed");
        }
    }

    @Test
    void aProcessThatEndsByItselfIsFound() {
        var setting = Setting.of("ends", LEASE).with(Ends.class);
        try (var bench = new FaultBench(new Room(new BenchEnvironment.Least(0, 0)), setting)) {
            bench.startAll();
            assertThat(bench.end().faults())
                    .singleElement()
                    .asString()
                    .startsWith("NEVER: ")
                    .contains("ended by itself, with code 3");
        }
    }

    @Test
    void nothingIsBegunWhileAnotherMustLeadAndTimeIsUp() throws IOException {
        var folder = Setting.of("one-only", LEASE).folder();
        var setting = new Setting(OneOnly.class, LEASE, folder, Optional.empty());
        var patience = LEASE.multipliedBy(8);
        try (var bench = new FaultBench(new Rooms(3), setting)) {
            bench.startAll();
            var nemesis = new Nemesis(bench, 1, patience);
            nemesis.begin(BenchFault.ORDERS_TO_FROZEN, 0, Duration.ZERO);
            nemesis.run(LEASE.multipliedBy(4));
            assertThat(bench.end(patience).faults())
                    .anySatisfy(fault -> assertThat(fault).contains("nobody else led"));
        }
        var done = Files.readAllLines(folder.resolve("history.txt")).stream()
                .filter(line -> line.contains("begin: ") || line.contains("end:   "))
                .toList();
        assertThat(done.get(0)).contains("begin: orders to frozen");
        assertThat(done.get(1)).contains("end:   orders to frozen");
    }

    /** Counts what is done to the records. */
    private static final class Harm implements BenchEnvironment.Records {
        private final AtomicInteger done = new AtomicInteger();

        @Override
        public void drop() {
            done.incrementAndGet();
        }

        @Override
        public void delete() {
            done.incrementAndGet();
        }

        @Override
        public void spoil() {
            done.incrementAndGet();
        }
    }

    @Test
    void recordsAreNotHurtWhileOrdersNeedThem() throws IOException {
        var harm = new Harm();
        var folder = Setting.of("records", LEASE).folder();
        var setting = new Setting(Alone.class, LEASE, folder, Optional.empty());
        try (var bench = new FaultBench(new Rooms(3, Optional.of(harm)), setting)) {
            bench.startAll();
            new Nemesis(bench, 1).run(LEASE.multipliedBy(60));
            bench.awaitAll();
        }
        var history = Files.readAllLines(folder.resolve("history.txt"));
        var orders = 0;
        var harms = 0;
        for (var line : history) {
            if (line.contains("orders to")) {
                orders += line.contains("begin: ") ? 1 : line.contains("end:   ") ? -1 : 0;
            } else if (line.contains(" records")) {
                harms += line.contains("begin: ") ? 1 : line.contains("end:   ") ? -1 : 0;
            }
            assertThat(harms == 0 || (orders == 0 && harms == 1)).as(line).isTrue();
        }
        assertThat(harm.done.get()).isGreaterThan(2);
        assertThat(history).anyMatch(line -> line.contains("begin: orders to"));
    }

    @Test
    void ordersThatNeverFindAnybodyAreFound() {
        var setting = Setting.of("not-found", LONGER).with(OneOnly.class);
        try (var bench = new FaultBench(new Rooms(2), setting)) {
            bench.startAll(); // in no election that the operator can see
            var orders = bench.begin(BenchFault.ORDERS_TO_DEAD, 1, LONGER);
            Eventually.throughout("orders are given", LONGER.multipliedBy(4), () -> true);
            orders.run();
            assertThat(bench.end(LONGER).faults())
                    .anySatisfy(fault -> assertThat(fault).contains("orders to stand down found nobody there"))
                    .anySatisfy(fault -> assertThat(fault).contains("in the end")) // bob does not lead in its turn
                    .hasSize(2);
        }
    }

    @Test
    void ordersThatNeverFindTheLeaderWhoIsDeadAreFound() {
        var setting = Setting.of("dead-not-found", LONGER).with(OneOnly.class);
        try (var bench = new FaultBench(new Rooms(2), setting)) {
            bench.startAll();
            var orders = bench.begin(BenchFault.ORDERS_TO_DEAD, 0, LONGER);
            Eventually.throughout("orders are given", LONGER.multipliedBy(4), () -> true);
            orders.run();
            assertThat(bench.end(LONGER).faults())
                    .anySatisfy(fault -> assertThat(fault).contains("orders to stand down found nobody there"))
                    .anySatisfy(fault -> assertThat(fault).contains("nobody else led while ann"))
                    .anySatisfy(fault -> assertThat(fault).contains("in the end"))
                    .hasSize(3);
        }
    }

    /** Where a hog was killed before its child had begun, the child took a processor forever. */
    @Test
    void whoStarvesTheMachineLeavesNothingBehind() {
        var seconds = 98_765;
        try (var bench = new FaultBench(new Room(new BenchEnvironment.Least(0, 0)), Setting.of("starves", LEASE))) {
            for (var i = 0; i < 20; i++) {
                bench.begin(BenchFault.STARVE, 0, Duration.ofSeconds(seconds)).run();
            }
            Eventually.eventually(
                    "all have ended",
                    Duration.ofSeconds(30),
                    () -> ProcessHandle.allProcesses()
                            .noneMatch(process -> process.info()
                                    .commandLine()
                                    .filter(line -> line.contains("SECONDS <= " + (seconds + 1)))
                                    .isPresent()));
        }
    }

    @Test
    void thatOneDoesNotLeadInItsTurnInTheEndIsFound() {
        try (var bench =
                new FaultBench(new Rooms(2), Setting.of("out-of-turn", LEASE).with(OneOnly.class))) {
            bench.startAll();
            var findings = bench.end(LEASE.multipliedBy(4));
            assertThat(findings.isStalled()).isFalse();
            assertThat(findings.faults()).singleElement().asString().contains("in the end");
        }
    }

    @Test
    void thatNobodyLeadsInTheEndIsFound() {
        var setting = Setting.of("leads-once", LEASE).with(LeadsOnce.class);
        try (var bench = new FaultBench(new Room(new BenchEnvironment.Least(0, 0)), setting)) {
            bench.startAll();
            assertThat(bench.leadsNoMore(0, LEASE.multipliedBy(100))).isTrue();
            var findings = bench.end(LEASE.multipliedBy(4));
            assertThat(findings.isStalled()).isTrue();
            assertThat(findings.faults()).singleElement().asString().contains("somebody leads");
        }
    }
}
