package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.bellwether.kafka.LogEntry.Attempt;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Whatever stands in a log that keeps elections by itself: all readers make the same of it, and go on behind it. */
class LogFuzzTest {
    @FuzzTest(maxDuration = "5s")
    void twoReadersMakeTheSameOfAForeignRecord(byte[] bytes) {
        var one = new LogMachine(new Deaf());
        var other = new LogMachine(new Deaf());
        var offset = 0L;
        for (var record : new String(bytes, StandardCharsets.UTF_8).split("\n\n", -1)) {
            var space = Math.max(0, record.indexOf(' '));
            var key = record.substring(0, space).getBytes(StandardCharsets.UTF_8);
            var value = record.substring(space).strip().getBytes(StandardCharsets.UTF_8);
            one.read(offset, offset, LogEntry.parse(key, value).orElse(null));
            other.read(offset, offset, again(key, value).orElse(null));
            LogKey.parse(new String(key, StandardCharsets.UTF_8), 1);
            offset++;
        }
        assertThat(one.lines()).isEqualTo(other.lines());
        assertThat(one.epoch()).isEqualTo(other.epoch());
        assertThat(one.next()).isEqualTo(offset);
        assertThat(one.highest()).isNotNegative().isEqualTo(other.highest());
        assertThat(one.longest()).isEqualTo(other.longest());
    }

    /** What was read is written, and read once more. */
    private static Optional<LogEntry> again(byte[] key, byte[] value) {
        return LogEntry.parse(key, value)
                .flatMap(entry ->
                        entry instanceof LogEntry.Unknown ? Optional.of(entry) : LogEntry.parse(key, entry.value()));
    }

    private static final class Deaf implements LogMachine.Witness {
        @Override
        public void judged(Attempt attempt, boolean done, long revision) {}

        @Override
        public void changed(String name, LogMachine.@Nullable Kept kept) {}
    }
}
