package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.outbox.World.Snapshots;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is read, in thousands of worlds in which transactions draw ids in one order and commit in another. */
class RowReaderTest {
    private static final int WORLDS = 400 * Integer.getInteger("bellwether.rounds", 1);
    private static final int STEPS = 400;

    @Test
    void everyRowIsReadOnceAndInTheOrderOfItsKeyHoweverTransactionsInterleave() throws SQLException {
        for (var seed = 0L; seed < WORLDS; seed++) {
            var run = new Run(seed, false);
            run.go();
            assertThat(run.ledger.faults(run.world.written()))
                    .as("seed %s", seed)
                    .isEmpty();
            assertThat(run.ledger.repeats()).as("repeats with seed %s", seed).isZero();
            assertThat(run.meter.strays.get()).as("strays with seed %s", seed).isZero();
        }
    }

    @Test
    void readerThatBeginsAgainAtTheLowMarkRewindsAndMissesNothing() throws SQLException {
        var repeats = 0;
        for (var seed = 0L; seed < WORLDS; seed++) {
            var run = new Run(seed, true);
            run.go();
            assertThat(run.ledger.faults(run.world.written()))
                    .as("seed %s", seed)
                    .isEmpty();
            assertThat(run.meter.strays.get()).as("strays with seed %s", seed).isZero();
            repeats += run.ledger.repeats();
        }
        assertThat(repeats).isPositive();
    }

    @Test
    void heldRowsAreRememberedAndTheLowMarkStaysBeforeThem() throws SQLException {
        var held = 0;
        for (var seed = 0L; seed < WORLDS; seed++) {
            var run = new Run(seed, false);
            run.blocked = "k0";
            run.go();
            var written = run.world.written();
            written.remove("k0");
            assertThat(run.ledger.faults(written)).as("seed %s", seed).isEmpty();
            assertThat(run.meter.strays.get()).as("strays with seed %s", seed).isZero();
            var first = run.world.first("k0");
            if (first.isPresent()) {
                held++;
                assertThat(run.intake.low()).as("low with seed %s", seed).isLessThan(first.getAsLong());
            }
        }
        assertThat(held).isPositive();
    }

    @Test
    void keysAreInOrderAlthoughSnapshotsOfMariaDbAreNot() throws SQLException {
        for (var seed = 0L; seed < WORLDS; seed++) {
            var run = new Run(seed, seed % 2 == 1, Snapshots.COMPLETED);
            run.go();
            assertThat(run.ledger.faults(run.world.written()))
                    .as("seed %s", seed)
                    .isEmpty();
            if (!run.restarts) {
                assertThat(run.ledger.repeats())
                        .as("repeats with seed %s", seed)
                        .isZero();
            }
            assertThat(run.meter.strays.get()).as("strays with seed %s", seed).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Snapshots.class,
            names = {"NOT_COMPLETED", "COMPLETED_TOO_EARLY", "OF_TWO_STATEMENTS"})
    void aReadThatDoesNotCompleteWhatItShowsIsFound(Snapshots planted) throws SQLException {
        var found = false;
        var seed = 0L;
        for (; !found && seed < 20L * WORLDS; seed++) {
            var run = new Run(seed, false, planted);
            run.go();
            found = !run.ledger.faults(run.world.written()).isEmpty();
        }
        System.out.println(planted + ": found in world " + seed);
        assertThat(found).as("in one of %s worlds", 20L * WORLDS).isTrue();
    }

    /** One world, one reader of it, and one who deletes what was read, in that order. */
    private static final class Run {
        final World world;
        final Ledger ledger = new Ledger();
        final Meter meter = new Meter();
        private final Random random;
        private final boolean restarts;
        private final Snapshots snapshots;
        private final int blindness;
        /** The more is read at a time, the more often the newest rows are. */
        private final int share;

        private final RelayConfig config;
        private final Deque<Row> sent = new ArrayDeque<>();
        private long low = Long.MIN_VALUE + 1;
        private RowReader intake;
        private long highest = Long.MIN_VALUE;
        String blocked = "";

        Run(long seed, boolean restarts) {
            this(seed, restarts, Snapshots.OF_A_MOMENT);
        }

        Run(long seed, boolean restarts, Snapshots snapshots) {
            random = new Random(seed);
            world = new World(new Random(seed + 1), snapshots);
            blindness = Math.max(0, random.nextInt(8) - 2);
            this.restarts = restarts;
            this.snapshots = snapshots;
            share = snapshots == Snapshots.OF_A_MOMENT ? 1 : 20;
            config = RelayConfig.named("x")
                    .maxTransactionRecords(share * (1 + random.nextInt(20)))
                    .maxInFlightBytes((long) share * (2_048 + random.nextInt(20_000)))
                    .sweepInterval(Duration.ofMillis(1 + random.nextInt(200)))
                    .build();
            intake = intake();
        }

        private RowReader intake() {
            return new RowReader(
                    world, config, 0, noConnection(), writers(), low, this::isBlocked, meter, world::nanoTime);
        }

        /** On some worlds nobody tells who writes, or only at times. */
        private OpenWriters writers() {
            return () -> random.nextInt(5) < blindness ? Optional.empty() : Optional.of(world.holders());
        }

        private boolean isBlocked(Row row) {
            return World.key(row).equals(blocked);
        }

        void go() throws SQLException {
            for (var step = 0; step < STEPS; step++) {
                world.happens();
                switch (random.nextInt(restarts ? 20 : 19)) {
                    case 0, 1, 2, 3 -> read();
                    case 4, 5, 6 -> delete(random.nextInt(10));
                    case 7 -> low = intake.low();
                    case 19 -> {
                        sent.clear(); // neither sent nor deleted for all we know
                        intake = intake();
                    }
                    default -> {}
                }
            }
            world.end();
            for (var turn = 0; !isDone(); turn++) {
                if (turn == 500 && snapshots.isPlanted()) {
                    return; // what was read last is not what was written last
                }
                assertThat(turn).as("turns until all is read").isLessThan(10_000);
                read();
                delete(Integer.MAX_VALUE);
            }
        }

        /** Whether all is read and gone, and what is missing is known never to come. */
        private boolean isDone() {
            var written = world.written();
            return written.remove(blocked) != null
                    ? ledger.isComplete(written) && world.isEmptyBut(blocked)
                    : ledger.isComplete(written) && world.isEmpty() && (intake.low() >= highest || blindness >= 5);
        }

        private void read() throws SQLException {
            var batch = intake.next(share * (1 + random.nextInt(30)), (long) share * (1_024 + random.nextInt(20_000)));
            for (var row : batch.rows()) {
                sent.add(row);
                highest = Math.max(highest, row.id());
                ledger.read(World.key(row), World.number(row));
            }
        }

        private void delete(int most) {
            var ids = new ArrayList<Long>();
            while (!sent.isEmpty() && ids.size() < most) {
                ids.add(sent.removeFirst().id());
            }
            world.delete(ids);
            intake.disposed(ids.stream().mapToLong(Long::longValue).toArray());
        }
    }

    private static Connection noConnection() {
        return (Connection) Proxy.newProxyInstance(
                RowReaderTest.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    throw new UnsupportedOperationException(method.getName());
                });
    }

    @Test
    void gapsAreMergedWhenThereAreTooManyAndHideNothing() {
        var gaps = new Gaps(2_000, 1_000);
        for (var id = 0L; id < 10_000; id++) {
            gaps.noticed(id * 10 + 1, id * 10 + 3);
            gaps.coarsen(new LongSet());
        }
        assertThat(gaps.size()).isLessThanOrEqualTo(2_000);
        for (var id = 0L; id < 10_000; id++) {
            assertThat(gaps.contains(id * 10 + 2)).as("gap %s", id).isTrue();
        }
        gaps.filled(2);
        assertThat(gaps.contains(2)).isFalse();
        assertThat(gaps.contains(1) && gaps.contains(3)).isTrue();
        assertThat(List.of(gaps.from().length, gaps.to().length)).containsOnly(gaps.size());
    }

    @Test
    void gapsStayOpenWhileATransactionIsPreparedThoughNobodyHoldsALockByItsOldName() {
        var gaps = new Gaps(2_000, 1_000);
        gaps.noticed(1, 3);
        gaps.holders(new OpenWriters.Holders(Set.of("writer"), false));
        gaps.holders(new OpenWriters.Holders(Set.of(), true));
        assertThat(gaps.closing())
                .as("NEVER: a gap is closed while its row may still come")
                .isEmpty();
        gaps.holders(new OpenWriters.Holders(Set.of(), false));
        assertThat(gaps.closing()).hasSize(1);
    }

    @Test
    void gapIsClosedWhenThoseHaveGoneWhoHeldTheLockThoughOthersHoldItByThen() {
        var gaps = new Gaps(2_000, 1_000);
        gaps.noticed(1, 3);
        gaps.holders(new OpenWriters.Holders(Set.of("a", "b"), false));
        gaps.holders(new OpenWriters.Holders(Set.of("b", "c"), false));
        assertThat(gaps.closing()).isEmpty();
        gaps.holders(new OpenWriters.Holders(Set.of("c", "d"), false));
        assertThat(gaps.closing()).hasSize(1);
    }

    @Test
    void oneWriterThatStaysOpenKeepsOnlyTheGenerationsThatGapsReferTo() {
        var gaps = new Gaps(2_000, 1_000);
        var open = new OpenWriters.Holders(Set.of("slow"), false);
        gaps.noticed(1, 3);
        for (var look = 0L; look < 1_000; look++) {
            gaps.holders(open);
            gaps.noticed(10 + look, 10 + look);
            gaps.filled(10 + look); // a writer that was quick
        }
        gaps.noticed(5_000, 5_001);
        gaps.holders(open);
        gaps.holders(new OpenWriters.Holders(Set.of(), false));
        var closing = gaps.closing();
        assertThat(closing).as("generations of two gaps").hasSize(2);
        gaps.closed(closing);
        assertThat(gaps.isEmpty()).isTrue();
    }
}
