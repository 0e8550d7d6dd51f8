package dev.bellwether.kafka;

import dev.bellwether.fixtures.Scripts;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A member of a group that is built on librdkafka, with its range assignor, as goNELI's are: {@code kcat -G}. */
final class KcatMember implements AutoCloseable {
    private static final Pattern PARTITION = Pattern.compile("\\[(\\d+)]");

    private final Process process;
    private final List<String> said = new CopyOnWriteArrayList<>();
    private volatile Set<Integer> owned = Set.of();

    KcatMember(String bootstrap, String group, String topic) {
        try {
            process = new ProcessBuilder(
                            Scripts.where("kcat"),
                            "-b",
                            bootstrap,
                            "-X",
                            "partition.assignment.strategy=range",
                            "-X",
                            "session.timeout.ms=6000",
                            "-X",
                            "heartbeat.interval.ms=500",
                            "-X",
                            "enable.auto.commit=false",
                            "-G",
                            group,
                            topic)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        var reading = new Thread(this::read, "kcat");
        reading.setDaemon(true);
        reading.start();
    }

    /** Returns whether it has said last that it was given partition 0, which is to lead by goNELI's rules. */
    boolean owns() {
        return owned().contains(0);
    }

    /** Returns the partitions that it has said last that it was given. */
    Set<Integer> owned() {
        return process.isAlive() ? owned : Set.of();
    }

    /** Returns what it has said. */
    String said() {
        return String.join("\n", said);
    }

    private void read() {
        try (var lines = new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                said.add(line);
                if (line.contains("assigned:")) {
                    owned = PARTITION
                            .matcher(line)
                            .results()
                            .map(found -> Integer.valueOf(found.group(1)))
                            .collect(Collectors.toUnmodifiableSet());
                } else if (line.contains("revoked:")) {
                    owned = Set.of();
                }
            }
        } catch (IOException e) {
            said.add(e.toString()); // it was ended
        }
    }

    /** Ends it in order: it leaves the group. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
