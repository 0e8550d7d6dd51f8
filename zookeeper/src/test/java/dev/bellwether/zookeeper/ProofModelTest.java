package dev.bellwether.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.testkit.Never;
import dev.bellwether.zookeeper.EnsembleModel.Ours;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * Rounds of proofs in an {@link EnsembleModel}, in simulated time: no proof may outlast the session. Each seed draws a
 * tick, a session that may be shorter than a tick, a server, delays and pauses, and when the client falls silent, or
 * its server dies.
 */
class ProofModelTest {
    private static final long MILLI = 1_000_000;
    private static final int SEEDS = 20_000;
    private static final List<Ours> OURS = List.of(Ours.values());
    private static final List<Integer> TICKS = List.of(100, 500, 2_000, 3_000);

    /** How the time of a round is reckoned. */
    private enum Rule {
        /** As it is. */
        OURS,
        /**
         * Planted: half a tick at most, but never more than a quarter of the session, since that lasts for two ticks by
         * default.
         */
        CAPPED_BY_THE_SESSION,
        /** Planted: observers are as near to the leader as followers. */
        OBSERVERS_ARE_FOLLOWERS,
        /** Planted: time counts from when the last request was sent. */
        COUNTS_FROM_THE_LAST_REQUEST,
        /** Planted: the transaction follows at once. */
        NO_WAIT
    }

    /** Proofs, with what they were good for. */
    private record Found(long seed, Proof proof, long expired, String drawn) {
        @Override
        public String toString() {
            return "seed " + seed + ": proven until "
                    + (proof.since().nanos() + proof.guarantee().toNanos()) / MILLI + " ms, expired at "
                    + expired / MILLI + " ms; " + drawn;
        }
    }

    @Test
    void noProofOutlastsTheSessionWhateverTheTick() {
        var proofs = new long[1];
        var found = LongStream.range(0, SEEDS)
                .mapToObj(seed -> new Life(seed, Rule.OURS).live(proofs))
                .flatMap(Optional::stream)
                .findFirst();
        assertThat(found).as(Never.MARK + "a proof outlasts the session").isEmpty();
        assertThat(proofs[0]).as("proofs in " + SEEDS + " lives").isGreaterThan(SEEDS);
    }

    @Test
    void whatIsPlantedIsFoundByDefaultSeeds() {
        for (var rule : Rule.values()) {
            var found = LongStream.range(0, SEEDS)
                    .mapToObj(seed -> new Life(seed, rule).live(new long[1]))
                    .flatMap(Optional::stream)
                    .toList();
            System.out.printf(
                    "%s: found in %d of %d lives%s%n",
                    rule, found.size(), SEEDS, found.isEmpty() ? "" : "; first " + found.get(0));
            assertThat(found.isEmpty()).as(rule.toString()).isEqualTo(rule == Rule.OURS);
        }
    }

    /** One client with a session, until that has expired. */
    private static final class Life {
        private final long seed;
        private final Rule rule;
        private final SplittableRandom random;
        private final long tick;
        private final Duration timeout;
        private final Ours ours;
        private final EnsembleModel model;
        private final ProofTiming timing;
        private final CandidacyConfig config;
        private final List<Proof> proofs = new ArrayList<>();
        private long silentFrom = Long.MAX_VALUE;

        Life(long seed, Rule rule) {
            this.seed = seed;
            this.rule = rule;
            random = new SplittableRandom(seed);
            tick = TICKS.get(random.nextInt(TICKS.size())) * MILLI;
            ours = OURS.get(random.nextInt(OURS.size()));
            var real = new ProofTiming(Duration.ofNanos(tick));
            timeout = Duration.ofNanos(200 * MILLI + random.nextLong(3 * tick));
            config = CandidacyConfig.builder()
                    .lease(timeout)
                    .standDownBudget(Duration.ofMillis(10))
                    .build();
            timing = rule == Rule.CAPPED_BY_THE_SESSION
                    ? new ProofTiming(Duration.ofNanos(Math.min(tick, timeout.toNanos() / 2)))
                    : real;
            model = new EnsembleModel(random, tick, timeout.toNanos(), ours);
        }

        Optional<Found> live(long[] count) {
            if (!timing.fits(config, hops())) {
                return Optional.empty(); // refused
            }
            var until = model.now() + 3 * tick + 2 * timeout.toNanos();
            silentFrom = model.now() + random.nextLong(until - model.now());
            begin();
            if (random.nextInt(4) > 0) {
                model.schedule(silentFrom, model::killOne);
            }
            model.run(until + 4 * timeout.toNanos() + 10 * tick);
            count[0] += proofs.size();
            assertThat(model.expired())
                    .as("seed " + seed + ": when the session of a silent client expired")
                    .isPresent();
            var expired = model.expired().orElseThrow();
            return proofs.stream()
                    .filter(proof -> proof.since().nanos() + proof.guarantee().toNanos() > expired)
                    .map(proof -> new Found(
                            seed,
                            proof,
                            expired,
                            "tick " + tick / MILLI + " ms, session " + timeout.toMillis() + " ms, " + ours))
                    .findFirst();
        }

        private void begin() {
            if (model.now() < silentFrom) {
                proceed(new ProofRound(timing, moment(), timeout, 1));
                var interval = timing.interval(config, hops());
                model.schedule(model.now() + interval.toNanos(), this::begin);
            }
        }

        private int hops() {
            return rule == Rule.OBSERVERS_ARE_FOLLOWERS ? 1 : Math.max(1, ours.hops);
        }

        private Moment moment() {
            return new Moment(model.now(), 0);
        }

        private void proceed(ProofRound round) {
            if (model.now() >= silentFrom) {
                return;
            }
            switch (round.step()) {
                case TOUCH ->
                    model.touch(() -> {
                        round.touched(hops(), 1);
                        proceed(round);
                    });
                case SYNC ->
                    model.toLeader(lives -> {
                        round.synced(model.now(), 1);
                        proceed(round);
                    });
                case AWAIT_PING, AWAIT_SLACK -> {
                    var until = rule == Rule.NO_WAIT ? model.now() : round.wakeAtNanos();
                    model.schedule(until, () -> {
                        round.tick(round.wakeAtNanos(), 1);
                        proceed(round);
                    });
                }
                case CHECK -> {
                    var sent = moment();
                    model.toLeader(lives -> {
                        if (lives) {
                            round.checked(1);
                            var proof = round.proof(timeout);
                            proofs.add(
                                    rule == Rule.COUNTS_FROM_THE_LAST_REQUEST
                                            ? new Proof(sent, proof.guarantee())
                                            : proof);
                        }
                    });
                }
                case PROVEN, VOID -> {}
            }
        }
    }
}
