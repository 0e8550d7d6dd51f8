package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.bellwether.cli.command.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Whatever stands in a file for the reaper: it is used, or refused with a reason. */
class ReaperFileFuzzTest {
    @FuzzTest(maxDuration = "5s")
    void aReaperFileIsUsedOrRefusedWithAReason(byte[] bytes) throws IOException {
        var path = Files.write(Path.of("reaper-fuzzed.yaml"), bytes);
        try {
            var file = ReaperFile.read(path);
            assertThat(file.table()).isNotNull();
            assertThat(file.dataSource(Map.of("PGHOST", "db", "PGDATABASE", "shop")))
                    .isNotNull();
            assertThat(file.config().build()).isNotNull();
        } catch (UsageException | IllegalArgumentException e) {
            assertThat(e.getMessage()).isNotBlank();
        }
    }
}
