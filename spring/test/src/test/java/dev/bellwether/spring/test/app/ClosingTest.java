package dev.bellwether.spring.test.app;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.spring.Candidacies;
import dev.bellwether.spring.test.BellwetherTest;
import dev.bellwether.testkit.ControlledElections;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;
import org.springframework.test.annotation.DirtiesContext;

/** A test of what an application does when its elections are closed: it ends as any other. */
@BellwetherTest
@Import(Ledger.class)
class ClosingTest {
    @Autowired
    private ControlledElections controlled;

    @Autowired
    private Candidacies candidacies;

    @Test
    @DirtiesContext
    void electionsThatAreClosedEndTheMandate(@Autowired Elections elections) {
        controlled.election("billing").acquire();
        elections.close();
        assertThat(candidacies.isLeader("billing")).isFalse();
    }
}
