package dev.bellwether.spring.test;

import dev.bellwether.Phase;
import dev.bellwether.spring.Candidacies;
import dev.bellwether.testkit.ControlledElections;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/** Lets no test begin as leader because the one before it ended as one: they share their context. */
final class BackToStandby implements AfterEachCallback {
    @Override
    public void afterEach(ExtensionContext test) {
        var context = SpringExtension.getApplicationContext(test);
        var controlled = context.getBean(ControlledElections.class);
        context.getBeanProvider(Candidacies.class) // there are none with bellwether.enabled=false
                .ifAvailable(candidacies -> vacate(candidacies, controlled));
    }

    private static void vacate(Candidacies candidacies, ControlledElections controlled) {
        for (var candidacy : candidacies.all()) {
            if (candidacy.status().phase() == Phase.CLOSED) {
                continue; // perhaps with all elections, of which nothing can be asked then
            }
            var election = controlled.election(candidacy.election());
            election.answerAgain();
            election.vacate();
            if (candidacy.isLeader()) {
                election.fence();
            }
        }
    }
}
