package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class BackendThreadTest {
    private final List<Throwable> deaths = Collections.synchronizedList(new ArrayList<>());

    private void lives(BackendThread.Body body) throws InterruptedException {
        var thread = BackendThread.of("bellwether-test", body, deaths::add);
        assertThat(thread.isDaemon()).isTrue();
        thread.start();
        thread.join();
    }

    @Test
    void anErrorThatEndsTheBodyIsTold() throws Exception {
        var death = new OutOfMemoryError("planted");
        lives(() -> {
            throw death;
        });
        assertThat(deaths).containsExactly(death);
    }

    @Test
    void aBodyThatReturnsHasNotDied() throws Exception {
        lives(() -> {});
        assertThat(deaths).isEmpty();
    }

    @Test
    void theDeathIsToldAgainUntilThereIsMemoryForIt() throws Exception {
        var told = new CompletableFuture<Integer>();
        var tries = new ArrayList<Throwable>();
        var thread = BackendThread.of(
                "bellwether-test",
                () -> {
                    throw new IllegalStateException("planted");
                },
                death -> {
                    tries.add(death);
                    if (tries.size() < 3) {
                        throw new OutOfMemoryError("planted");
                    }
                    told.complete(tries.size());
                });
        thread.start();
        assertThat(told.join()).isEqualTo(3);
        thread.join();
    }
}
