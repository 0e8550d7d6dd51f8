package dev.bellwether.spring.test;

import dev.bellwether.Elections;
import dev.bellwether.testkit.ControlledElections;
import java.util.List;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * Lets no test begin as leader, or with a lock that is held, because the one before it ended so: they share their
 * context.
 */
final class BackToStandby implements AfterEachCallback {
    @Override
    public void afterEach(ExtensionContext test) {
        var controlled = SpringExtension.getApplicationContext(test).getBean(ControlledElections.class);
        var elections = controlled.elections();
        for (var name : known(elections)) { // with those that are locks, of which candidacies know nothing
            var election = controlled.election(name);
            election.answerAgain();
            election.vacate();
            if (elections.election(name).leader().isPresent()) {
                election.fence();
            }
        }
    }

    private static List<String> known(Elections elections) {
        try {
            return elections.list();
        } catch (IllegalStateException e) { // the test has closed them
            return List.of();
        }
    }
}
