package dev.bellwether.spring.test.app;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spring.Locks;
import dev.bellwether.spring.test.BellwetherTest;
import dev.bellwether.testkit.ControlledElections;
import org.junit.jupiter.api.RepeatedTest;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;

/** What a test says of a lock holds until its end. */
@BellwetherTest
@Import(Ledger.class)
class LockedTest {
    @Autowired
    private ControlledElections controlled;

    @Autowired
    private Locks locks;

    @RepeatedTest(2) // in one context: the second begins with a lock that is free, too
    void aLockThatIsHeldElsewhereIsFreeForTheNextTest() throws Exception {
        var report = controlled.elections().election("report");
        assertThat(report.leader()).isEmpty();
        controlled.election("report").leadsElsewhere("other");
        assertThat(locks.named("report").tryLock().lock()).isEmpty();
        assertThat(report.leader()).isPresent();
    }

    @RepeatedTest(2)
    void soIsOneThatNobodyAskedFor() {
        assertThat(controlled.elections().election("unasked").leader()).isEmpty();
        controlled.election("unasked").leadsElsewhere("other");
    }
}
