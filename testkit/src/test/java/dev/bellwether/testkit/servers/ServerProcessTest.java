package dev.bellwether.testkit.servers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a server ends. */
@Timeout(60)
class ServerProcessTest {
    /** SIGTERM waits until it goes on, which it never does. */
    @Test
    void aPausedServerThatIsToStopIsKilledAfterAWhile() {
        try (var server = new Sleeper()) {
            assertThat(sleepers()).isOne();
            server.pause();
            server.stop(Duration.ofMillis(100));
            assertThat(sleepers()).isZero();
        }
    }

    @Test
    void aServerThatIsToStopEndsByItself() {
        try (var server = new Sleeper()) {
            server.stop();
            assertThat(sleepers()).isZero();
        }
    }

    /** It may be in the middle of its leave: nobody would end it later. */
    @Test
    void whoIsInterruptedWhileAServerStopsLeavesNoneBehind() {
        try (var server = new Sleeper()) {
            server.pause();
            Thread.currentThread().interrupt();
            server.stop();
            assertThat(Thread.interrupted()).isTrue();
            Eventually.eventually("it is gone", Duration.ofSeconds(30), () -> sleepers() == 0);
        }
    }

    private static long sleepers() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info().command().orElse("").endsWith("sleep"))
                .count();
    }

    private static final class Sleeper extends ServerProcess {
        Sleeper() {
            super("sleeper", 0, folder -> List.of("sleep", "600"));
        }
    }
}
