package dev.bellwether.kafka;

import dev.bellwether.spi.BackendThread;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Appends to a log, on a thread of its own: Kafka's client may block while it does not know where to send a record.
 * Thread-safe; {@link #append} never blocks.
 */
final class LogWriter implements AutoCloseable {
    private final TopicPartition partition;
    private final Writer writer;
    private final LinkedBlockingQueue<Optional<Job>> jobs = new LinkedBlockingQueue<>(); // the end is empty
    private volatile Thread thread;
    private volatile boolean closed;

    /** What is to be appended, until this instant. */
    private record Job(LogEntry entry, long untilNanos, Consumer<@Nullable Exception> done) {}

    LogWriter(TopicPartition partition, Writer writer) {
        this.partition = partition;
        this.writer = writer;
        thread = thread();
        try {
            thread.start();
        } catch (RuntimeException | Error e) { // there is none for us
            writer.close(Duration.ZERO);
            throw e;
        }
    }

    private Thread thread() {
        return BackendThread.of("bellwether-kafka-writer-" + partition.topic(), this::run, death -> {
            if (!closed) {
                var successor = thread();
                thread = successor;
                successor.start();
            }
        });
    }

    /** Sends it within this time, or not at all; then, on any thread, tells the error, or null. */
    void append(LogEntry entry, Duration within, Consumer<@Nullable Exception> done) {
        jobs.add(Optional.of(new Job(entry, System.nanoTime() + within.toNanos(), done)));
    }

    /** Returns how many wait to be sent. */
    int waiting() {
        return jobs.size();
    }

    private void run() throws InterruptedException {
        for (var next = jobs.take(); next.isPresent(); next = jobs.take()) {
            var job = next.get();
            if (System.nanoTime() - job.untilNanos >= 0) {
                job.done.accept(new TimeoutException("it waited too long for the producer"));
                continue;
            }
            var entry = job.entry;
            writer.write(
                    new ProducerRecord<>(partition.topic(), partition.partition(), entry.key(), entry.value()),
                    job.done);
        }
    }

    /** Sends what was to be appended before, and no more. */
    @Override
    public void close() {
        closed = true;
        jobs.add(Optional.empty());
        try {
            thread.join(TimeUnit.SECONDS.toMillis(2));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        writer.close(Duration.ofSeconds(2));
    }
}
