package dev.bellwether.spring.test.app;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spring.test.BellwetherTest;
import dev.bellwether.testkit.ControlledElections;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.TestPropertySource;

@BellwetherTest
@Import(Ledger.class)
@TestPropertySource(properties = "bellwether.moving-to=memory:next") // as in an application that moves
class BellwetherTestTest {
    @Autowired
    private ControlledElections controlled;

    @Autowired
    private Billing billing;

    @Autowired
    private Ledger ledger;

    @RepeatedTest(2) // in one context: the second begins as a standby, too
    void theTestSaysWhoLeads() {
        var settled = ledger.tokens.size();
        billing.settle(null);
        assertThat(ledger.tokens).hasSize(settled);
        var token = controlled.election("billing").acquire();
        billing.settle(null);
        assertThat(ledger.tokens).hasSize(settled + 1).endsWith(token);
    }

    @Test
    void onlyWhatLeadsIsThere(@Autowired ApplicationContext context) {
        assertThat(context.getBeansOfType(Billing.class)).hasSize(1);
        assertThat(context.getBeansOfType(Unconcerned.class)).isEmpty();
    }

    @Test
    void soIsWhatLeadsByWhatItExtendsOrImplementsOrByAnAnnotationOfTheApplications(
            @Autowired ApplicationContext context) {
        assertThat(context.getBeansOfType(Indirect.Job.class)).hasSize(1);
        assertThat(context.getBeansOfType(Indirect.Chore.class)).hasSize(1);
        assertThat(context.getBeansOfType(Indirect.Marked.class)).hasSize(1);
    }

    @Nested
    class WhileLeading {
        @Autowired
        private ApplicationContext context;

        @BeforeEach
        void lead() {
            controlled.election("billing").acquire();
        }

        @Test
        void itSettlesAndNothingElseIsThere() {
            billing.settle(null);
            assertThat(ledger.tokens).isNotEmpty();
            assertThat(context.getBeansOfType(Unconcerned.class)).isEmpty();
        }
    }
}
