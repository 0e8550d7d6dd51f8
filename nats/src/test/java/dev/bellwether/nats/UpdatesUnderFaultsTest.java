package dev.bellwether.nats;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.nats.client.Connection;
import io.nats.client.api.KeyValueConfiguration;
import io.nats.client.impl.Headers;
import io.nats.client.support.JsonParseException;
import io.nats.client.support.JsonParser;
import io.nats.client.support.JsonValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What our elections rest on, asked of the servers alone, without a line of ours: of those who update one revision of a
 * key, one at most is told that it has; and later updates have higher revisions. Servers die and are frozen one after
 * the other, without waiting for the last one to be up to date.
 */
class UpdatesUnderFaultsTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final int CLIENTS = 6;
    private static final String STREAM = "KV_updates";
    private static final String KEY = "$KV.updates.seat";

    private final Random random = new Random(Long.getLong("bellwether.bench.seed", 1));
    private final Queue<Update> updates = new ConcurrentLinkedQueue<>();
    private volatile boolean over;

    /** One that was confirmed. */
    private record Update(long from, long to, long beganNanos, long endedNanos) {}

    @Test
    void noTwoUpdatesOfOneRevisionAreConfirmedWhateverDies() throws Exception {
        var faults = 0;
        try (var cluster = new NatsCluster()) {
            try (var admin = cluster.admin(0)) {
                admin.ask(connection -> connection
                        .keyValueManagement()
                        .create(KeyValueConfiguration.builder()
                                .name("updates")
                                .replicas(3)
                                .build()));
            }
            var clients = IntStream.range(0, CLIENTS)
                    .mapToObj(i -> new Thread(() -> update(cluster), "client-" + i))
                    .toList();
            clients.forEach(Thread::start);
            var end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.getLong("bellwether.bench.seconds", 10));
            while (System.nanoTime() - end < 0) {
                hurt(cluster);
                faults++;
            }
            cluster.leader("updates");
            over = true;
            for (var client : clients) {
                client.join();
            }
        }
        System.out.printf("%d faults of servers, %,d updates were confirmed%n", faults, updates.size());
        assertThat(updates).hasSizeGreaterThan(10);
        assertThat(broken()).isEmpty();
    }

    /** One server dies, or is frozen, for a second or so. */
    private void hurt(NatsCluster cluster) throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(random.nextInt(1_000)); // updates meanwhile
        var victim = cluster.server(random.nextBoolean() ? cluster.leader("updates") : random.nextInt(3));
        if (random.nextInt(4) == 0) {
            victim.pause();
            TimeUnit.MILLISECONDS.sleep(500 + random.nextInt(1_000));
            victim.resume();
        } else {
            victim.kill();
            TimeUnit.MILLISECONDS.sleep(500 + random.nextInt(1_000));
            victim.start();
        }
    }

    private void update(NatsCluster cluster) {
        var servers = IntStream.range(0, 3)
                .mapToObj(i -> "nats://127.0.0.1:" + cluster.server(i).port())
                .toArray(String[]::new);
        try (var client = Admin.of(BucketClient.ourOptions().servers(servers).build())) {
            while (!over) {
                updateOnce(client.connection());
                TimeUnit.MILLISECONDS.sleep(5);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void updateOnce(Connection connection) throws InterruptedException {
        var found = ask(connection, "$JS.API.STREAM.MSG.GET." + STREAM, null, "{\"last_by_subj\":\"" + KEY + "\"}");
        if (found == null || (found.get("message") == null && !found.toString().contains("10037"))) {
            return; // nobody knows
        }
        var message = found.get("message");
        var from = message == null || message.map == null ? 0 : Replies.number(message.map.get("seq"));
        var began = System.nanoTime();
        var headers = new Headers().put("Nats-Expected-Last-Subject-Sequence", Long.toString(from));
        var written = ask(connection, KEY, headers, "x");
        if (written != null && written.get("error") == null) {
            updates.add(new Update(from, Replies.number(written.get("seq")), began, System.nanoTime()));
        }
    }

    private static @Nullable Map<String, JsonValue> ask(
            Connection connection, String subject, @Nullable Headers headers, String body) throws InterruptedException {
        try {
            var answer = connection.request(subject, headers, body.getBytes(UTF_8), TIMEOUT);
            return answer == null || answer.isStatusMessage() ? null : JsonParser.parse(answer.getData()).map;
        } catch (IllegalStateException | JsonParseException e) {
            return null; // not connected
        }
    }

    private List<String> broken() {
        var broken = new ArrayList<String>();
        var byRevision = new HashMap<Long, Update>();
        for (var update : updates) {
            var other = byRevision.put(update.from(), update);
            if (other != null) {
                broken.add("revision " + update.from() + " was updated to " + other.to() + " and to " + update.to());
            }
        }
        var byEnd = updates.stream()
                .sorted(Comparator.comparingLong(Update::endedNanos))
                .toList();
        var highest = 0L;
        var next = 0;
        for (var update : updates.stream()
                .sorted(Comparator.comparingLong(Update::beganNanos))
                .toList()) {
            while (byEnd.get(next).endedNanos() - update.beganNanos() < 0) {
                highest = Math.max(highest, byEnd.get(next++).to());
            }
            if (update.to() <= highest) {
                broken.add("an update was confirmed as revision " + update.to() + " after " + highest + " had been");
            }
        }
        return broken;
    }
}
