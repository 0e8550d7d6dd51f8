package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Phase;
import dev.bellwether.TaskFailure;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Leader code with every setting that there is, and all that a user's code may do, good and bad: what core is simulated
 * with.
 */
final class Chaos implements Application {
    /** The longest that a listener or a step of a task takes, in leases. */
    static final double LONGEST_WORK = 3;

    private int stood;

    static Simulation simulation() {
        return Simulation.of(Chaos::new)
                .atOnce()
                .steady()
                .processes(1, 6)
                .lease(Duration.ofMillis(200), Duration.ofSeconds(8))
                .driftBounds(0.002, 0.01, 0.01, 0.1)
                .longestWork(LONGEST_WORK);
    }

    /** Over records, where each lease is kept by a session from its first renewal on. */
    static Simulation overSessions() {
        return simulation().overRecords(RecordTraits.PLAIN.sharing(1));
    }

    @Override
    public void start(SimProcess process) throws InterruptedException {
        var random = process.random();
        var candidacies = new ArrayList<Candidacy>();
        for (var election : List.of("bell", "wether")) {
            if (candidacies.isEmpty() || random.nextInt(4) == 0) {
                candidacies.add(
                        new Stance(process, random.nextLong()).stand(random.nextInt(5) == 0 ? "wether" : election));
            }
        }
    }

    /** One candidacy, with settings and habits of its own. */
    private final class Stance {
        private final SimProcess process;
        private final SplittableRandom random;
        private final double blocks; // how often work takes long
        private final double fails;
        private final double silent;
        private final double hangs;
        /** Of its own, so that it changes nothing else that a seed draws. */
        private final SplittableRandom hearers;

        private Stance(SimProcess process, long seed) {
            this.process = process;
            random = new SplittableRandom(seed);
            hearers = new SplittableRandom(~seed);
            blocks = often();
            fails = often();
            silent = often();
            hangs = random.nextInt(20) == 0 ? 0.01 : 0;
        }

        private double often() {
            return random.nextInt(3) == 0 ? random.nextDouble() : 0;
        }

        private Candidacy stand(String election) {
            var config = config();
            var candidacy = process.elections().stand(election, config);
            if (random.nextInt(4) != 0) {
                candidacy.whileLeading(mandate -> {
                    mandate.ensure();
                    work();
                });
            }
            config.maxPulseInterval().ifPresent(interval -> pulse(candidacy, interval));
            if (hearers.nextInt(40) == 0) {
                listen(candidacy);
            }
            return candidacy;
        }

        private CandidacyConfig config() {
            var lease = process.lease();
            if (random.nextInt(4) == 0) {
                lease = share(lease, 0.5, 2); // a roll-out of other settings, say
            }
            var builder = CandidacyConfig.builder().lease(lease).driftBound(process.driftBound());
            builder.candidate(random.nextInt(10) == 0 ? "same" + ++stood : process.name() + "-" + ++stood);
            var usable = lease.toNanos() * (1 - process.driftBound()) - 1;
            var budget = Duration.ofNanos(1 + (long) (usable * 0.95 * Math.pow(random.nextDouble(), 3)));
            var most = (usable - budget.toNanos()) * 0.999;
            var renew =
                    Duration.ofNanos(1 + (long) (most * (random.nextInt(3) == 0 ? random.nextDouble(0.05, 1) : 0.4)));
            builder.standDownBudget(budget).renewInterval(renew).retryInterval(share(renew, 0.05, 1));
            builder.taskInterval(share(lease, 0.1, random.nextInt(4) == 0 ? 3 : 0.5));
            if (random.nextInt(3) == 0) {
                builder.priority(random.nextInt(3));
            }
            if (random.nextInt(6) == 0) {
                builder.standbyBackoff(share(lease, 0.1, 3));
            }
            if (random.nextInt(6) == 0) {
                builder.maxPulseInterval(share(lease, 0.2, 2));
            }
            if (random.nextInt(6) == 0) {
                builder.onTaskFailure(TaskFailure.END);
            }
            if (random.nextInt(8) != 0) {
                builder.listener(this::hear);
            }
            return builder.build();
        }

        private Duration share(Duration of, double least, double most) {
            return Duration.ofNanos(1 + (long) (of.toNanos() * random.nextDouble(least, most) * 0.999));
        }

        private void hear(LeadershipEvent event) {
            work();
        }

        private void work() {
            var lease = process.lease().toNanos();
            if (!process.isCalm() && random.nextDouble() < hangs) {
                process.hang();
            } else if (!process.isCalm() && random.nextDouble() < blocks) {
                process.busy((long) (lease * Math.pow(random.nextDouble(), 2) * LONGEST_WORK));
            } else {
                process.busy((long) (lease * 0.02 * random.nextDouble()));
            }
            if (!process.isCalm() && random.nextDouble() < fails) {
                throw new IllegalStateException("as planned");
            }
        }

        /** Others come, hear for a while, and go. */
        private void listen(Candidacy candidacy) {
            var watch = candidacy.listen(event -> {});
            process.later(Duration.ofNanos((long) (process.lease().toNanos() * hearers.nextDouble(0.1, 3))), () -> {
                watch.close();
                if (!isOver(candidacy)) {
                    listen(candidacy);
                }
            });
        }

        private static boolean isOver(Candidacy candidacy) {
            var phase = candidacy.status().phase();
            return phase == Phase.CLOSED || phase == Phase.LEAVING;
        }

        private void pulse(Candidacy candidacy, Duration interval) {
            if (isOver(candidacy)) {
                return;
            }
            if (process.isCalm() || random.nextDouble() >= silent * 0.3) {
                try {
                    candidacy.pulse(Duration.ZERO);
                } catch (InterruptedException | RuntimeException e) {
                    return; // it ended just now
                }
            }
            process.later(interval.dividedBy(3), () -> pulse(candidacy, interval));
        }
    }
}
