package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class DelayThreadTest {
    private static final Duration PAUSE = Duration.ofMillis(50);

    @Test
    void aTaskRunsAfterThePauseOnADaemonThreadOfItsOwn() {
        var began = System.nanoTime();
        var thread = CompletableFuture.supplyAsync(Thread::currentThread, DelayThread.after(PAUSE))
                .join();
        assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(PAUSE.toNanos());
        assertThat(thread.getName()).isEqualTo("bellwether-delays");
        assertThat(thread.isDaemon()).isTrue();
    }

    @Test
    void aTaskThatFailsHoldsUpNoOther() {
        DelayThread.after(Duration.ZERO).execute(() -> {
            throw new OutOfMemoryError("planted");
        });
        assertThat(CompletableFuture.supplyAsync(() -> 7, DelayThread.after(PAUSE)))
                .succeedsWithin(Duration.ofSeconds(10))
                .isEqualTo(7);
    }
}
