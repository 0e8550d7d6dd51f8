package dev.bellwether.testkit.sim;

import dev.bellwether.CandidacyConfig;
import java.time.Duration;

/**
 * Those who stand for a while and leave, again and again, in a process that goes on: what is under way when they leave
 * has time to come to its end.
 */
final class ComingAndGoing implements Application {
    static Simulation simulation() {
        return Simulation.of(ComingAndGoing::new)
                .atOnce()
                .processes(2, 5)
                .lease(Duration.ofSeconds(1), Duration.ofSeconds(20))
                .without(Fault.PAUSE, Fault.SUSPEND, Fault.CRASH, Fault.CLOCK_JUMP, Fault.THROW, Fault.END)
                .storm(40);
    }

    @Override
    public void start(SimProcess process) {
        process.elections().stand("wether", CandidacyConfig.ofLease(process.lease())); // for as long as it lives
        comeAndGo(process);
    }

    private void comeAndGo(SimProcess process) {
        var candidacy = process.elections().stand("bell", CandidacyConfig.ofLease(process.lease()));
        process.later(share(process, 2), () -> {
            if (!process.isCalm()) {
                candidacy.resign();
                process.later(share(process, 1), () -> comeAndGo(process));
            }
        });
    }

    private static Duration share(SimProcess process, double most) {
        return Duration.ofNanos(
                1 + (long) (process.lease().toNanos() * most * process.random().nextDouble()));
    }
}
