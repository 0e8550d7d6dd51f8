package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Candidates that hand the seat over to each other by name, in a world without faults: what is a courtesy elsewhere
 * must hold here.
 */
final class HandOvers implements Application {
    /**
     * A claim that was sent before its candidate heard that another is ready must not find the seat vacant: so long the
     * leader winds up its work, in times that a message takes.
     */
    private static final int WINDING_UP = 12;

    private final List<Candidacy> all = new ArrayList<>();

    static Simulation simulation() {
        return Simulation.of(HandOvers::new)
                .without(Fault.values())
                .atOnce()
                .handingOver()
                .processes(2, 5)
                .storm(3);
    }

    @Override
    public void start(SimProcess process) {
        var random = process.random();
        var settings = CandidacyConfig.builder()
                .lease(process.lease())
                .driftBound(process.driftBound())
                .build();
        var retry = settings.renewInterval().toNanos() * random.nextDouble(0.5, 0.999);
        all.add(process.elections()
                .stand(
                        "bell",
                        settings.toBuilder()
                                .candidate(process.name())
                                .retryInterval(Duration.ofNanos((long) retry))
                                .listener(event -> hear(process, event))
                                .build()));
    }

    private void hear(SimProcess process, LeadershipEvent event) {
        if (event instanceof LeadershipEvent.Preparing) {
            process.busy((long) (process.random().nextDouble() * process.lease().toNanos() / 4));
        } else if (event instanceof LeadershipEvent.Revoked revoked
                && revoked.cause() == Cause.HANDED_OVER
                && all.size() > 2) {
            process.busy(WINDING_UP * process.usualDelay().toNanos());
        }
    }
}
