package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
    void aThreadThatCannotBeStartedIsToldAsItsDeath() {
        var lack = new OutOfMemoryError("unable to create native thread");
        var unborn = new Thread() {
            @Override
            public synchronized void start() {
                throw lack;
            }
        };
        BackendThread.start(unborn, deaths::add);
        assertThat(deaths).containsExactly(lack);
    }

    @Test
    void aBodyThatReturnsHasNotDied() throws Exception {
        lives(() -> {});
        assertThat(deaths).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theDeathIsToldAgainUntilThereIsMemoryForIt(boolean ofAnInterrupt) throws Exception {
        var told = new CompletableFuture<Integer>();
        var tries = new ArrayList<Throwable>();
        var thread = BackendThread.of(
                "bellwether-test",
                () -> {
                    if (ofAnInterrupt) {
                        Thread.currentThread().interrupt();
                    }
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
        thread.join();
        assertThat(told).isCompletedWithValue(3);
    }

    @Test
    void aLastingBodyBeginsAgainWhateverEndsIt() throws Exception {
        beginsAgainAfter(() -> {
            throw new OutOfMemoryError("planted");
        });
    }

    /** It ended then, and those who relied on it waited in vain. */
    @Test
    void aLastingBodyThatDiesOfAnInterruptBeginsAgain() throws Exception {
        beginsAgainAfter(() -> {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("planted");
        });
    }

    private static void beginsAgainAfter(Runnable death) throws Exception {
        var runs = new AtomicInteger();
        var closed = new AtomicBoolean();
        var thread = BackendThread.lasting(
                "bellwether-test",
                () -> {
                    if (runs.incrementAndGet() == 1) {
                        death.run();
                    }
                    closed.set(true);
                },
                closed::get);
        assertThat(thread.isDaemon()).isTrue();
        thread.start();
        thread.join();
        assertThat(runs).hasValue(2);
    }

    @Test
    void aLastingBodyThatHasDiedDoesNotBeginAgainWhenItIsClosed() throws Exception {
        var runs = new AtomicInteger();
        var closed = new AtomicBoolean();
        var thread = BackendThread.lasting(
                "bellwether-test",
                () -> {
                    runs.incrementAndGet();
                    closed.set(true);
                    throw new OutOfMemoryError("planted");
                },
                closed::get);
        thread.start();
        thread.join();
        assertThat(runs).hasValue(1);
    }

    @Test
    void anInterruptEndsOnePauseAndNotTheNextOne() {
        Thread.currentThread().interrupt();
        BackendThread.pause(1);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }
}
