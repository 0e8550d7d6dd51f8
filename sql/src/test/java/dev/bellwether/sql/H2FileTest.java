package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file of H2. */
class H2FileTest {
    @TempDir
    private Path folder;

    @Test
    void aTokenThatWasHandedOutSurvivesTheDeathOfTheProcess() throws Exception {
        var uri = "jdbc:h2:" + folder.resolve("elections");
        var lease = Duration.ofSeconds(1);
        var last = 0L;
        for (var i = 0; i < 2; i++) {
            var child = ChildMain.stand(uri, "billing", lease);
            var token = Long.parseLong(child.await("leads "));
            child.kill();
            child.close();
            assertThat(token).isGreaterThan(last);
            last = token;
        }
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("billing", CandidacyConfig.ofLease(lease))) {
            assertThat(leader.await(Duration.ofSeconds(20)).orElseThrow().token())
                    .isGreaterThan(last);
        }
    }
}
