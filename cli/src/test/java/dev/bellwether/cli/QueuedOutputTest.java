package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class QueuedOutputTest {
    /** What reads so many times, and then no more until it may again. */
    private static final class Reader extends OutputStream {
        private final Semaphore reads = new Semaphore(0);
        private volatile boolean fails;
        private final ByteArrayOutputStream read = new ByteArrayOutputStream();

        @Override
        public void write(int one) {
            throw new AssertionError("one byte at a time");
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            reads.acquireUninterruptibly();
            if (fails) {
                fails = false;
                throw new OutOfMemoryError("planted");
            }
            read.write(bytes, offset, length);
        }

        String all() {
            return read.toString(StandardCharsets.US_ASCII);
        }
    }

    private static final Duration LONG = Duration.ofDays(1);

    private final Reader reader = new Reader();
    private final QueuedOutput output = new QueuedOutput(reader, "queued");

    @Test
    void whatIsWrittenIsThereAtOnceWhileSomebodyReads() {
        reader.reads.release(2);

        say("one\n");
        say("two\n");

        assertThat(reader.all()).isEqualTo("one\ntwo\n");
    }

    @Test
    void whatNobodyReadsHoldsUpNobodyAndIsReadLater() throws Exception {
        for (var i = 0; i < 1_000; i++) {
            say(i + "\n");
        }
        reader.reads.release(1_000);
        output.finish(LONG);

        assertThat(reader.all()).startsWith("0\n1\n2\n").endsWith("998\n999\n");
    }

    @Test
    void whatThereIsNoRoomForIsCounted() throws Exception {
        var kilobyte = "x".repeat(1_023) + "\n";
        for (var i = 0; i < 70; i++) {
            say(kilobyte);
        }
        reader.reads.release(1_000);
        output.finish(LONG);
        say("after\n");

        assertThat(reader.all().lines().filter(line -> line.startsWith("x"))).hasSize(64);
        assertThat(reader.all())
                .endsWith("bellwether: 6144 bytes of messages are missing here: nobody read them\nafter\n");
    }

    @Test
    void whatNobodyEverReadsKeepsNoProcessFromItsEnd() throws Exception {
        say("one\n");

        output.finish(Duration.ofMillis(200));

        assertThat(reader.all()).isEmpty();
    }

    @Test
    void whatCannotBeWrittenKeepsNothingElseFromBeingWritten() throws Exception {
        reader.fails = true;
        say("lost\n");
        reader.reads.release(2);
        output.finish(LONG);
        say("after\n");

        assertThat(reader.all()).isEqualTo("after\n");
    }

    private void say(String text) {
        var bytes = text.getBytes(StandardCharsets.US_ASCII);
        output.write(bytes, 0, bytes.length);
    }
}
