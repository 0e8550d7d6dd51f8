package dev.bellwether.kafka;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.testkit.Eventually;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;

/**
 * A process that stands, and tells on its output from when to when it found itself leading: the first and the last
 * instant, on the monotonic clock that all processes of a machine share. Takes commands on its input, a line each, and
 * ends with it.
 */
final class Contender {
    private final Candidacy candidacy;
    private final Map<String, Object> properties;
    private final String topic;
    private final AtomicReference<@Nullable Producer<String, String>> producer = new AtomicReference<>();
    private volatile boolean closed;

    private Contender(Candidacy candidacy, Map<String, Object> properties, String topic) {
        this.candidacy = candidacy;
        this.properties = properties;
        this.topic = topic;
    }

    /** Takes the brokers, the election, the candidate's id, the lease in milliseconds and a topic to write to. */
    public static void main(String[] args) throws IOException, InterruptedException {
        var properties = Map.<String, Object>of("bootstrap.servers", args[0]);
        Contender contender;
        Thread watch;
        try (var elections = connect(properties)) {
            var config = CandidacyConfig.builder()
                    .candidate(args[2])
                    .lease(Duration.ofMillis(Long.parseLong(args[3])))
                    .listener(event -> say("event " + event.getClass().getSimpleName()))
                    .build();
            contender = new Contender(elections.stand(args[1], config), properties, args[4]);
            watch = new Thread(contender::watch, "watch");
            watch.setDaemon(true);
            watch.start();
            contender.obey();
        }
        contender.closed = true;
        watch.join(); // when it has told of the end
        System.exit(0);
    }

    static Elections connect(Map<String, Object> properties) {
        return patiently("the brokers answer", () -> KafkaElections.using(properties));
    }

    /** On a busy machine brokers may not answer in time: then one tries again, as a process would be started again. */
    static <T> T patiently(String what, Supplier<T> beginning) {
        return Eventually.eventually(what, Duration.ofMinutes(1), () -> Optional.of(beginning.get()));
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /**
     * Says {@code led FIRST LAST} for each run of instants at which it led, and {@code leads TOKEN} at the first of
     * them.
     */
    private void watch() {
        var leads = false;
        var first = 0L;
        var last = 0L;
        while (leads || !closed) {
            var before = System.nanoTime();
            var now = candidacy.isLeader();
            var after = System.nanoTime();
            if (now && !leads) {
                first = after;
                say("leads " + candidacy.status().token() + ' ' + after);
            }
            if (now) {
                last = before;
            } else if (leads) {
                say("led " + first + ' ' + Math.max(first, last));
            }
            leads = now;
            Thread.onSpinWait();
            if (!now) {
                pause();
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(0, 200_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void obey() throws IOException {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = input.readLine(); line != null && !line.equals("close"); line = input.readLine()) {
            try {
                switch (line) {
                    case "begin" -> begin();
                    case "commit" -> {
                        Objects.requireNonNull(producer.get()).commitTransaction();
                        say("committed");
                    }
                    default -> throw new IllegalArgumentException(line);
                }
            } catch (KafkaException e) {
                say("refused " + e.getClass().getSimpleName());
            }
        }
    }

    private void begin() {
        var mandate = Eventually.eventually(
                "it makes a producer while it leads",
                Duration.ofMinutes(1),
                () -> candidacy.mandate().filter(this::makesProducer));
        var made = Objects.requireNonNull(producer.get());
        made.beginTransaction();
        var sent = made.send(new ProducerRecord<>(topic, candidacy.candidate(), Long.toString(mandate.token())));
        made.flush();
        say(sent.isDone() ? "begun" : "not sent");
    }

    /** Makes a producer of this mandate; not if that ends meanwhile, as it may on a busy machine. */
    private boolean makesProducer(Mandate mandate) {
        try {
            producer.set(
                    KafkaElections.fencedProducer(mandate, properties, new StringSerializer(), new StringSerializer()));
            return true;
        } catch (NotLeaderException e) {
            return false;
        }
    }
}
