package dev.bellwether.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Phase;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A heap that is really full, in a process of its own. */
class FullHeapTest {

    @Test
    @Timeout(120)
    void aHeapThatIsFullForAWhileLeavesNoCandidacyBetweenTwoStates() throws Exception {
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        var classPath = System.getProperty("java.class.path")
                + File.pathSeparator
                + Objects.requireNonNullElse(System.getProperty("jdk.module.path"), "");
        var process = new ProcessBuilder(java, "-Xmx24m", "-XX:+UseSerialGC", "-cp", classPath, Crowded.class.getName())
                .redirectErrorStream(true)
                .start();
        try {
            var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(output).isTrue();
            assertThat(output).contains("ten times full, and somebody leads");
            assertThat(process.exitValue()).as(output).isZero();
        } finally {
            process.destroyForcibly();
        }
    }

    /** Fills its heap again and again while its candidacies lead. */
    static final class Crowded {
        private static final CandidacyConfig CONFIG = CandidacyConfig.ofLease(Duration.ofMillis(400));

        private Crowded() {}

        public static void main(String[] args) throws InterruptedException {
            try (var elections = Elections.connect("memory:crowded")) {
                for (var round = 0; round < 10; round++) {
                    var candidacy = standing(elections);
                    leads(candidacy);
                    System.out.println("filled by " + fill() + " pieces");
                    settled(candidacy);
                }
                var last = standing(elections);
                leads(last);
                System.out.println("ten times full, and somebody leads");
                System.exit(0);
            }
        }

        private static void leads(Candidacy candidacy) throws InterruptedException {
            if (candidacy.await(Duration.ofSeconds(20)).isEmpty()) {
                System.out.println("nobody leads: " + candidacy.status());
                System.exit(2);
            }
        }

        private static Candidacy standing(Elections elections) throws InterruptedException {
            while (true) {
                try {
                    return elections.stand("billing", CONFIG.toBuilder().build());
                } catch (OutOfMemoryError e) {
                    TimeUnit.MILLISECONDS.sleep(10);
                }
            }
        }

        /** Leaves no byte for longer than a lease. */
        private static int fill() {
            var hoard = new ArrayList<byte[]>();
            var until = System.nanoTime() + 600_000_000;
            var size = 1 << 20;
            while (System.nanoTime() - until < 0) {
                try {
                    hoard.add(new byte[size]);
                } catch (OutOfMemoryError e) {
                    size = Math.max(16, size / 2);
                }
            }
            return hoard.size();
        }

        /** It goes on, or it has ended in order and says why; there is nothing between. */
        private static void settled(Candidacy candidacy) throws InterruptedException {
            var until = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            while (!candidacy.isLeader() && candidacy.status().phase() != Phase.CLOSED) {
                if (System.nanoTime() - until > 0) {
                    System.out.println("stuck: " + candidacy.status());
                    System.exit(3);
                }
                TimeUnit.MILLISECONDS.sleep(5);
            }
            if (candidacy.status().phase() == Phase.CLOSED
                    && candidacy.failure().isEmpty()) {
                System.out.println("ended without a reason: " + candidacy.status());
                System.exit(4);
            }
            candidacy.resign();
            while (candidacy.status().phase() != Phase.CLOSED) {
                if (System.nanoTime() - until > 0) {
                    System.out.println("does not end: " + candidacy.status());
                    System.exit(5);
                }
                TimeUnit.MILLISECONDS.sleep(5);
            }
        }
    }
}
