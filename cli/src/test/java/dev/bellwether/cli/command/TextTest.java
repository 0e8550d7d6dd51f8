package dev.bellwether.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import org.junit.jupiter.api.Test;

class TextTest {
    @Test
    void ofAFileMoreIsToldThanItsName() {
        assertThat(Text.words(new AccessDeniedException("/run/x"))).isEqualTo("permission denied: /run/x");
        assertThat(Text.words(new NoSuchFileException("/run/x"))).isEqualTo("no such file or folder: /run/x");
        assertThat(Text.words(new NotDirectoryException("/run/x"))).isEqualTo("NotDirectoryException: /run/x");
        assertThat(Text.words(new FileSystemException("/run/x", null, "No space left on device")))
                .isEqualTo("/run/x: No space left on device");
        assertThat(Text.words(new IOException("broken"))).isEqualTo("broken");
        assertThat(Text.words(new IOException())).isEqualTo("IOException");
    }
}
