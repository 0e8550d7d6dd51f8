package dev.bellwether.cli;

import dev.bellwether.outbox.Poison;
import dev.bellwether.outbox.RelayConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/** A file for goharvest's reaper, with a section of our own: {@code relay}. Unknown keys are refused. */
final class ReaperFile {
    private static final Map<String, Set<String>> KEYS = Map.of(
            "",
            Set.of("harvest", "logging", "relay"),
            "logging",
            Set.of("level"),
            "relay",
            Set.of("on", "shards", "poison"),
            "harvest",
            Set.of(
                    "baseKafkaConfig",
                    "producerKafkaConfig",
                    "leaderTopic",
                    "leaderGroupID",
                    "dataSource",
                    "outboxTable",
                    "name",
                    "limits"),
            "limits",
            Set.of(
                    "ioErrorBackoff",
                    "pollDuration",
                    "minPollInterval",
                    "maxPollInterval",
                    "heartbeatTimeout",
                    "drainInterval",
                    "queueTimeout",
                    "markBackoff",
                    "maxInFlightRecords",
                    "sendConcurrency",
                    "sendBuffer",
                    "markQueryRecords",
                    "minMetricsInterval"));

    private static final Map<String, String> MEANINGLESS = Map.of(
            "pollDuration", "leadership is polled for by the library",
            "minPollInterval", "leadership is polled for by the library",
            "maxPollInterval", "leadership does not hang on polling",
            "drainInterval", "what is in flight is bounded by the lease",
            "queueTimeout", "nothing is queued per key",
            "sendConcurrency", "one producer is faster than eight were; set relay.shards for more than one",
            "sendBuffer", "it had no effect there either");

    private final Map<String, Object> harvest;
    private final Map<String, Object> limits;
    private final Map<String, Object> relay;
    private final String level;
    private final List<String> warnings = new ArrayList<>();

    private ReaperFile(Map<String, Object> root) {
        checked("", root);
        harvest = section(root, "harvest");
        limits = section(harvest, "limits");
        relay = section(root, "relay");
        level = String.valueOf(section(root, "logging").getOrDefault("level", "Debug"));
        checked("harvest", harvest);
        checked("limits", limits);
        checked("relay", relay);
        checked("logging", section(root, "logging"));
        MEANINGLESS.forEach((key, why) -> {
            if (limits.containsKey(key)) {
                warnings.add("harvest.limits." + key + " has lost its meaning: " + why);
            }
        });
    }

    static ReaperFile read(Path file) {
        try {
            var loaded = new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(file));
            return new ReaperFile(map(file.toString(), loaded == null ? Map.of() : loaded));
        } catch (IOException e) {
            throw new UsageException(file + " cannot be read", e);
        } catch (YAMLException e) {
            throw new UsageException(file + " is no YAML: " + e.getMessage(), e);
        }
    }

    private static void checked(String section, Map<String, Object> values) {
        for (var key : values.keySet()) {
            if (!KEYS.getOrDefault(section, Set.of()).contains(key)) {
                throw new UsageException("unknown key " + (section.isEmpty() ? "" : section + ".") + key);
            }
        }
    }

    private static Map<String, Object> section(Map<String, Object> parent, String key) {
        var value = parent.get(key);
        return value == null ? Map.of() : map(key, value);
    }

    private static Map<String, Object> map(String what, Object value) {
        if (!(value instanceof Map<?, ?> found)) {
            throw new UsageException(what + " must hold keys and values");
        }
        var map = new TreeMap<String, Object>();
        found.forEach((key, content) -> {
            if (content != null) {
                map.put(String.valueOf(key), content);
            }
        });
        return map;
    }

    List<String> warnings() {
        return warnings;
    }

    String level() {
        return level;
    }

    String table() {
        return String.valueOf(harvest.getOrDefault("outboxTable", "outbox"));
    }

    String dataSource() {
        return GoDataSource.jdbc(String.valueOf(harvest.getOrDefault(
                "dataSource", "host=localhost port=5432 user=postgres password= dbname=postgres sslmode=disable")));
    }

    /** Returns where elections are held, if not on the brokers. */
    Optional<String> on() {
        return Optional.ofNullable(relay.get("on")).map(String::valueOf);
    }

    Optional<String> leaderTopic() {
        return Optional.ofNullable(harvest.get("leaderTopic")).map(String::valueOf);
    }

    Map<String, Object> kafka() {
        var merged = new TreeMap<String, Object>(section(harvest, "baseKafkaConfig"));
        merged.putAll(section(harvest, "producerKafkaConfig"));
        merged.putIfAbsent("bootstrap.servers", "localhost:9092");
        return LibrdkafkaProperties.translated(merged, warnings);
    }

    RelayConfig.Builder config() {
        var builder = RelayConfig.named(String.valueOf(harvest.getOrDefault("leaderGroupID", "reaper")))
                .producer(kafka());
        Optional.ofNullable(harvest.get("name")).map(String::valueOf).ifPresent(builder::candidate);
        duration("ioErrorBackoff").ifPresent(builder::backoff);
        duration("markBackoff").ifPresent(poll -> builder.maxPoll(poll).minPoll(shorter(poll)));
        // the session was thrice the heartbeat time-out
        duration("heartbeatTimeout").ifPresent(heartbeat -> builder.lease(heartbeat.multipliedBy(3)));
        duration("minMetricsInterval").ifPresent(builder::meterInterval);
        number(limits, "maxInFlightRecords").ifPresent(builder::maxInFlightRecords);
        number(limits, "markQueryRecords").ifPresent(builder::maxTransactionRecords);
        number(relay, "shards").ifPresent(builder::shards);
        Optional.ofNullable(relay.get("poison"))
                .map(String::valueOf)
                .map(ReaperFile::poison)
                .ifPresent(builder::poison);
        return builder;
    }

    private static Duration shorter(Duration poll) {
        var usual = Duration.ofMillis(2);
        return poll.compareTo(usual) < 0 ? poll : usual;
    }

    private static Poison poison(String name) {
        try {
            return Poison.valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_'));
        } catch (IllegalArgumentException e) {
            throw new UsageException("relay.poison is " + name + ": it must be halt, block-key or park", e);
        }
    }

    private Optional<Duration> duration(String key) {
        return Optional.ofNullable(limits.get(key)).map(value -> goDuration(key, String.valueOf(value)));
    }

    private static Duration goDuration(String key, String text) {
        try {
            return new Durations().convert(text);
        } catch (RuntimeException e) {
            throw new UsageException("harvest.limits." + key + " is " + text + ": write 10ms, 5s or 1m30s", e);
        }
    }

    private static Optional<Integer> number(Map<String, Object> section, String key) {
        return Optional.ofNullable(section.get(key)).map(value -> {
            try {
                return Integer.valueOf(String.valueOf(value));
            } catch (NumberFormatException e) {
                throw new UsageException(key + " is " + value + ": it must be a number", e);
            }
        });
    }
}
