package dev.bellwether.testkit.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What a bench asks of itself, shown by a candidate that needs no server, since it stands alone. */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(300);
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
            var until = System.nanoTime() + LEASE.toNanos();
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
                    .contains("it leads a lease after it was closed");
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
