package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.testkit.Eventually;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Who reads how an outbox stands. */
class StateReaderTest {
    /** As in a process that has no thread left: health and meters would know nothing until its end. */
    @Test
    void stateIsReadThoughThereWasNoThreadForTheFirstWhoAsked() {
        var config = RelayConfig.named("x").stateInterval(Duration.ofMillis(10)).build();
        var asked = new AtomicInteger();
        var reads = new AtomicInteger();
        var reader = new StateReader(
                config,
                () -> {
                    reads.incrementAndGet();
                    throw new SQLException("pretended");
                },
                runs -> asked.getAndIncrement() == 0 ? new NoThread() : new Thread(runs, "reads-the-state"));
        try {
            assertThatThrownBy(reader::latest).isInstanceOf(OutOfMemoryError.class);
            assertThat(reader.latest()).isEmpty();
            Eventually.eventually("it is read", RelayStage.PATIENCE, () -> reads.get() > 0);
        } finally {
            reader.end();
        }
    }

    private static final class NoThread extends Thread {
        @Override
        public synchronized void start() {
            throw new OutOfMemoryError("pretended: unable to create native thread");
        }
    }
}
