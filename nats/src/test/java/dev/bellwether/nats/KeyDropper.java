package dev.bellwether.nats;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.testkit.Eventually;
import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.PurgeOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Does to the keys of elections what a server with a wrong clock or an operator's hand does: drops them without a
 * marker, deletes them, overwrites them. Drawn from the seed of the bench; on a thread of its own.
 */
final class KeyDropper implements AutoCloseable {
    private final String bucket;
    private final String servers;
    private final Random random = new Random(Long.getLong("bellwether.bench.seed", 1));
    private final AtomicInteger done = new AtomicInteger();
    private final Thread thread = new Thread(this::run, "key-dropper");
    private volatile boolean closed;

    /** Begins at once. */
    KeyDropper(String servers, String bucket) {
        this.servers = servers;
        this.bucket = bucket;
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        while (!closed) {
            try (var admin = Admin.of(
                    BucketClient.ourOptions().servers(servers.split(",", -1)).build())) {
                while (!closed) {
                    var pause = Duration.ofMillis(2_000 + random.nextInt(6_000));
                    var until = System.nanoTime() + pause.toNanos();
                    Eventually.eventually(
                            "a while", pause.multipliedBy(2), () -> closed || System.nanoTime() - until > 0);
                    if (!closed) {
                        hurt(admin.connection());
                    }
                }
            } catch (UncheckedIOException | IllegalStateException e) {
                // the servers are away just now
            }
        }
    }

    private void hurt(Connection connection) {
        try {
            var management = connection.jetStreamManagement();
            var subjects = management
                    .getStreamInfo(
                            "KV_" + bucket, io.nats.client.api.StreamInfoOptions.filterSubjects("$KV." + bucket + ".*"))
                    .getStreamState()
                    .getSubjects();
            for (var subject : subjects) {
                switch (random.nextInt(3)) {
                    case 0 -> management.purgeStream("KV_" + bucket, PurgeOptions.subject(subject.getName()));
                    case 1 ->
                        connection.keyValue(bucket).delete(subject.getName().substring(("$KV." + bucket).length() + 1));
                    default -> connection.jetStream().publish(subject.getName(), "garbage".getBytes(UTF_8));
                }
                done.incrementAndGet();
            }
        } catch (IOException | JetStreamApiException e) {
            // next time
        }
    }

    @Override
    public void close() {
        closed = true;
        System.out.println("keys of the election dropped, deleted or overwritten: " + done.get() + " times");
    }
}
