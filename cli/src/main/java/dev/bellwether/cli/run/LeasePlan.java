package dev.bellwether.cli.run;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.UsageException;
import java.time.Duration;
import java.util.Optional;

/**
 * How {@code run} divides a lease.
 *
 * @param grace from SIGTERM, at the end of the mandate, to SIGKILL
 * @param margin from SIGKILL to the end of the lease: for the scheduler, and for a process group to die
 * @param budget what the mandate ends before the lease, so that both fit in
 */
record LeasePlan(Duration lease, Duration grace, Duration margin, Duration budget) {
    private static final Duration LEAST_MARGIN = Duration.ofMillis(150);
    private static final Duration MOST_MARGIN = Duration.ofSeconds(1);
    private static final double DRIFT = CandidacyConfig.defaults().driftBound();

    static LeasePlan of(Optional<Duration> lease, Optional<Duration> grace) {
        var wanted = grace.map(time -> time.multipliedBy(3))
                .filter(time -> time.compareTo(CandidacyConfig.defaults().lease()) > 0)
                .orElse(CandidacyConfig.defaults().lease());
        var plan = divide(lease.orElse(wanted), grace);
        if (!plan.fits()) {
            throw new UsageException("--lease " + CommandDurations.show(plan.lease) + " is too short for --grace "
                    + CommandDurations.show(plan.grace) + " and the renewals before it: make the lease "
                    + CommandDurations.show(enough(plan, grace))
                    + " or longer" + (grace.isPresent() ? ", or the grace shorter" : ""));
        }
        return plan;
    }

    private static LeasePlan divide(Duration lease, Optional<Duration> grace) {
        var tenth = lease.dividedBy(10);
        var margin = tenth.compareTo(LEAST_MARGIN) < 0
                ? LEAST_MARGIN
                : tenth.compareTo(MOST_MARGIN) > 0 ? MOST_MARGIN : tenth;
        var part = grace.orElse(lease.dividedBy(5));
        // In an orderly stand-down the budget is measured by the backend's clock, which may run faster than ours.
        var budget = Duration.ofNanos((long) (part.plus(margin).toNanos() / (1 - DRIFT)));
        return new LeasePlan(lease, part, margin, budget);
    }

    /** A third of the lease passes between two renewals, and as much again should be left for one that fails. */
    private boolean fits() {
        return budget.compareTo(Duration.ofNanos((long) (lease.toNanos() * (1 - DRIFT - 0.4)))) < 0;
    }

    private static Duration enough(LeasePlan tooShort, Optional<Duration> grace) {
        var lease = tooShort.lease;
        for (var plan = tooShort; !plan.fits(); plan = divide(lease, grace)) {
            lease = lease.plusMillis(Math.max(100, lease.toMillis() / 20))
                    .truncatedTo(java.time.temporal.ChronoUnit.MILLIS);
        }
        return Duration.ofMillis((lease.toMillis() + 99) / 100 * 100);
    }
}
