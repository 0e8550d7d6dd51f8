package dev.bellwether.spi;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.AccessRefusedException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** What the watches of backends over HTTP say of a refusal. */
@Isolated // it takes the log
class RefusedWatchTest {
    @Test
    void aRefusalIsToldOnceAndItsEndToo() {
        var written = new ByteArrayOutputStream();
        var before = System.err;
        System.setErr(new PrintStream(written, true, UTF_8));
        try {
            var watch = new RefusedWatch(RefusedWatchTest.class, "etcd://one");
            watch.granted();
            for (var i = 0; i < 3; i++) {
                watch.refused(new AccessRefusedException("permission denied"));
            }
            watch.granted();
            watch.granted();
            watch.refused(new AccessRefusedException("permission denied again"));
        } finally {
            System.setErr(before);
        }
        assertThat(written.toString(UTF_8).lines().filter(line -> line.contains("etcd://one")))
                .satisfiesExactly(
                        line -> assertThat(line).contains("WARN").endsWith("is over: permission denied"),
                        line -> assertThat(line).contains("INFO").endsWith("etcd://one may be watched again"),
                        line -> assertThat(line).contains("WARN").endsWith("permission denied again"));
    }
}
