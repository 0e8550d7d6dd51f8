package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Clock;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The last resort, in a process that may be halted. */
class HaltOnOverrunTest {

    @Test
    @Timeout(60)
    void aProcessWhoseWorkIsDeafToInterruptsHaltsBeforeTheLeaseEnds() throws Exception {
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        var classPath = System.getProperty("java.class.path")
                + File.pathSeparator
                + Objects.requireNonNullElse(System.getProperty("jdk.module.path"), "");
        var process = new ProcessBuilder(java, "-cp", classPath, Deaf.class.getName())
                .redirectErrorStream(true)
                .start();
        try {
            var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).as(output).isTrue();
            assertThat(process.exitValue()).as(output).isEqualTo(86);
            assertThat(output).contains("working").contains("haltOnOverrun").doesNotContain("survived");
        } finally {
            process.destroyForcibly();
        }
    }

    /** Leads, works on regardless, and loses its store. */
    static final class Deaf {
        private Deaf() {}

        public static void main(String[] args) throws InterruptedException {
            var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
            var elections = Elections.over(wire, ElectionsConfig.defaults());
            var candidacy = elections.stand(
                    "billing",
                    CandidacyConfig.builder()
                            .lease(Duration.ofSeconds(3))
                            .haltOnOverrun(true)
                            .build());
            var working = new CountDownLatch(1);
            candidacy.whileLeading(mandate -> {
                System.out.println("working");
                working.countDown();
                var until = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
                while (System.nanoTime() - until < 0) {
                    Thread.onSpinWait();
                }
                System.out.println("survived");
            });
            working.await();
            wire.cut = true;
            new CountDownLatch(1).await();
        }
    }
}
