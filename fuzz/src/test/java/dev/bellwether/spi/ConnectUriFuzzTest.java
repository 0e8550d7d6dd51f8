package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.bellwether.ElectionException;
import java.nio.charset.StandardCharsets;

/** Whatever a user writes as a URI is taken, or refused with a reason; and a password is never shown. */
class ConnectUriFuzzTest {
    private static final int LONG_ENOUGH = 8; // else it may stand in what is shown by chance

    @FuzzTest(maxDuration = "5s")
    void aUriIsTakenOrRefusedWithAReason(byte[] bytes) {
        var text = new String(bytes, StandardCharsets.UTF_8);
        if (text.contains("${")) {
            return; // reads files and variables of this machine
        }
        try {
            var uri = ConnectUri.parse(text);
            assertThat(uri.redact("it failed")).isNotNull();
            var password = uri.userInfo()
                    .filter(info -> info.indexOf(':') > 0)
                    .map(info -> info.substring(info.indexOf(':') + 1))
                    .filter(secret -> secret.length() >= LONG_ENOUGH);
            password.ifPresent(
                    secret -> assertThat(uri.toString()).as("what is shown").doesNotContain(":" + secret + "@"));
            uri.check();
        } catch (ElectionException e) {
            assertThat(e.getMessage()).isNotBlank();
        }
    }
}
