package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.Eventually;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A source that does not answer is asked by a few. */
@Timeout(120)
class BorrowingTest {
    private final String threads = Servers.fresh("borrowing");
    private final Semaphore answers = new Semaphore(0);
    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicLong nanos = new AtomicLong();
    private final AtomicBoolean refuses = new AtomicBoolean();

    private final DataSource silent = FaultyDatabase.proxy(DataSource.class, (method, arguments) -> {
        asked.incrementAndGet();
        answers.acquire();
        if (refuses.get()) {
            throw new SQLException("refused");
        }
        var connection = Servers.dataSource(PostgresServer.shared().uri()).getConnection();
        open.incrementAndGet();
        return FaultyDatabase.proxy(Connection.class, (of, given) -> {
            if (of.getName().equals("close")) {
                open.decrementAndGet();
            }
            return FaultyDatabase.call(connection, of, given);
        });
    });

    private Borrowing borrowing(Duration patience) {
        return new Borrowing(silent, patience, threads, nanos::get);
    }

    private static void fails(Borrowing borrowing) {
        assertThatThrownBy(borrowing::borrow)
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("no connection to the database within");
    }

    private void isAsked(int times) {
        Eventually.eventually("it is asked", Duration.ofSeconds(30), () -> asked.get() >= times);
        assertThat(asked).hasValue(times);
    }

    @Test
    void thoseWhoWaitInVainAreAFewAndAreAllGivenBack() {
        var borrowing = borrowing(Duration.ofMillis(20));
        for (var i = 0; i < 20; i++) {
            fails(borrowing);
        }
        isAsked(8);
        for (var minute = 1; minute <= 6; minute++) { // the next after one minute, after two more, after three more
            nanos.addAndGet(TimeUnit.MINUTES.toNanos(1));
            fails(borrowing);
            fails(borrowing);
            isAsked(minute < 3 ? 9 : minute < 6 ? 10 : 11);
        }
        answers.release(11);
        Eventually.eventually("nobody waits any more", Duration.ofSeconds(30), () -> threads() == 0);
        assertThat(open).hasValue(0);
        assertThat(answers.availablePermits()).isZero();
    }

    @Test
    void whoComesThenGetsWhatOthersHaveGivenUpOrHearsWhyThereIsNone() throws Exception {
        var borrowing = borrowing(Duration.ofMinutes(1));
        var before = IntStream.range(0, 8).mapToObj(i -> new Waiter(borrowing)).toList();
        before.forEach(Waiter::awaitWaiting);
        isAsked(8);
        var first = new Waiter(borrowing);
        first.awaitWaiting();
        var second = new Waiter(borrowing);
        second.awaitWaiting();
        isAsked(8);
        for (var one : before) {
            one.thread.interrupt();
            assertThat(one.end()).hasMessageContaining("interrupted");
        }
        answers.release();
        assertThat(first.end()).isNull();
        assertThat(open).as("it is lent").hasValue(1);
        refuses.set(true);
        answers.release();
        assertThat(second.end()).hasMessage("refused");
        refuses.set(false);
        answers.release(6);
        Eventually.eventually("nobody waits any more", Duration.ofSeconds(30), () -> threads() == 0);
        assertThat(open).as("what nobody waits for is given back").hasValue(1);
    }

    private static final class Waiter {
        private final AtomicReference<@Nullable SQLException> failure = new AtomicReference<>();
        private final Thread thread;

        Waiter(Borrowing borrowing) {
            thread = new Thread(() -> {
                try {
                    borrowing.borrow();
                } catch (SQLException e) {
                    failure.set(e);
                }
            });
            thread.start();
        }

        void awaitWaiting() {
            Eventually.eventually(
                    "it waits", Duration.ofSeconds(30), () -> thread.getState() == Thread.State.TIMED_WAITING);
        }

        @Nullable
        Throwable end() throws InterruptedException {
            thread.join();
            return failure.get();
        }
    }

    private long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(threads))
                .count();
    }
}
