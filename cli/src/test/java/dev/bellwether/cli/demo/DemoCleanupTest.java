package dev.bellwether.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoCleanupTest {
    @TempDir
    Path parent;

    @Test
    void everythingIsPutAwayAlsoWhenTheTerminalIsGone() throws Exception {
        var folder = Files.createDirectory(parent.resolve("demo"));
        var closed = new AtomicBoolean();
        try (var cleanup = DemoCleanup.in(folder, Optional.of(new KeyPresses("no such setting")))) {
            cleanup.keep(() -> closed.set(true));
        }

        assertThat(closed).isTrue();
        assertThat(folder).doesNotExist();
    }
}
