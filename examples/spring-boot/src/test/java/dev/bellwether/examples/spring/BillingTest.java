package dev.bellwether.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.spring.test.BellwetherTest;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;

// tag::test
@BellwetherTest
@Import(BillingTest.Notes.class)
class BillingTest {
    @Autowired
    private ControlledElections controlled;

    @Autowired
    private Notes notes;

    @Test
    void onlyTheLeaderSettlesAndItHandsOverItsToken() {
        var election = controlled.election("billing");
        var token = election.acquire();
        Eventually.eventually("it settles", Duration.ofSeconds(30), () -> notes.tokens.contains(token));
        election.fence(); // what was running has ended when this returns
        var settled = notes.tokens.size();
        assertThat(election.acquire()).isEqualTo(token + 1);
        Eventually.eventually("it settles again", Duration.ofSeconds(30), () -> notes.tokens.size() > settled);
        assertThat(notes.tokens.get(settled)).isEqualTo(token + 1);
    }

    /** In place of the database. */
    static class Notes extends JdbcTemplate {
        final List<Object> tokens = new CopyOnWriteArrayList<>();

        @Override
        public void afterPropertiesSet() {} // no DataSource is needed

        @Override
        public void execute(String sql) {}

        @Override
        public int update(String sql, Object... arguments) {
            tokens.addAll(List.of(arguments));
            return 1;
        }
    }
}
// end::test
