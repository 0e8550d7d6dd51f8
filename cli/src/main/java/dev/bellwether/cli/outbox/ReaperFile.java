package dev.bellwether.cli.outbox;

import dev.bellwether.ElectionException;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.outbox.OutboxForm;
import dev.bellwether.outbox.Partitioning;
import dev.bellwether.outbox.Poison;
import dev.bellwether.outbox.RelayConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.representer.Representer;
import org.yaml.snakeyaml.resolver.Resolver;

/** A file for goharvest's reaper, with a section of our own: {@code relay}. Unknown keys are refused. */
final class ReaperFile {
    private static final Map<String, Set<String>> KEYS = Map.of(
            "",
            Set.of("harvest", "logging", "relay"),
            "logging",
            Set.of("level"),
            "relay",
            Set.of(
                    "on",
                    "shards",
                    "poison",
                    "lease",
                    "maxInFlightBytes",
                    "readAhead",
                    "transactionInterval",
                    "maxBackoff",
                    "maxPoll",
                    "haltRetry",
                    "sweepInterval",
                    "databaseTimeout",
                    "standDownAfter",
                    "createTables",
                    "form",
                    "retain",
                    "once",
                    "wakeUp",
                    "eventIdHeader"),
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

    private static final int MOST_ALIASES = 10;
    private static final int DEEPEST = 30;

    private static final Map<String, String> MEANINGLESS = Map.of(
            "pollDuration", "leadership is polled for by the library",
            "minPollInterval", "leadership is polled for by the library",
            "maxPollInterval", "leadership does not depend on polling",
            "drainInterval", "the lease limits what is in flight",
            "queueTimeout", "nothing is queued per key; delivery.timeout.ms bounds a send",
            "sendConcurrency",
                    "one producer, with up to five requests in flight to each broker, replaces many;"
                            + " relay.shards gives more",
            "sendBuffer", "it had no effect there; relay.readAhead has");

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
        checked("harvest", harvest);
        checked("limits", limits);
        checked("relay", relay);
        checked("logging", section(root, "logging"));
        level = level(String.valueOf(section(root, "logging").getOrDefault("level", "info")));
        MEANINGLESS.forEach((key, why) -> {
            if (limits.containsKey(key)) {
                warnings.add("harvest.limits." + key + " has no effect any more: " + why);
            }
        });
    }

    static ReaperFile read(Path file) {
        try {
            var loaded = yaml().load(Files.readString(file));
            requireShallow(loaded, 0);
            return of(file, map(file.toString(), loaded == null ? Map.of() : loaded));
        } catch (IOException e) {
            throw new UsageException(file + " cannot be read", e);
        } catch (MarkedYAMLException e) {
            throw new UsageException(file + place(e.getProblemMark()) + " is no YAML: " + e.getProblem(), e);
        } catch (YAMLException e) {
            throw new UsageException(file + " is no YAML: " + e.getMessage(), e);
        }
    }

    private static ReaperFile of(Path file, Map<String, Object> root) {
        try {
            return new ReaperFile(root);
        } catch (UsageException e) {
            throw new UsageException(file + ": " + e.getMessage(), e);
        }
    }

    /** Refuses what holds itself: there would be no end to it. */
    private static void requireShallow(@Nullable Object value, int depth) {
        if (depth > DEEPEST) {
            throw new YAMLException("it is nested more than " + DEEPEST + " deep, or holds itself");
        }
        if (value instanceof Map<?, ?> map) {
            map.forEach((key, content) -> {
                requireShallow(key, depth + 1);
                requireShallow(content, depth + 1);
            });
        } else if (value instanceof Collection<?> all) {
            all.forEach(one -> requireShallow(one, depth + 1));
        }
    }

    private static String place(@Nullable Mark mark) {
        return mark == null ? "" : ", line " + (mark.getLine() + 1) + ", column " + (mark.getColumn() + 1) + ",";
    }

    private static Yaml yaml() {
        var loading = new LoaderOptions();
        loading.setMaxAliasesForCollections(MOST_ALIASES); // a few make nothing large; many would
        loading.setAllowDuplicateKeys(false); // the last one would count, and the others be forgotten
        var dumping = new DumperOptions();
        return new Yaml(new SafeConstructor(loading), new Representer(dumping), dumping, loading, new PlainTruths());
    }

    /** True and false are truths, and nothing else: in YAML 1.1 the key {@code on} is one, too. */
    private static final class PlainTruths extends Resolver {
        private static final Pattern TRUTHS = Pattern.compile("true|True|TRUE|false|False|FALSE");

        @Override
        public void addImplicitResolver(Tag tag, Pattern pattern, String first, int limit) {
            if (tag.equals(Tag.BOOL)) {
                super.addImplicitResolver(tag, TRUTHS, "tTfF", limit);
            } else {
                super.addImplicitResolver(tag, pattern, first, limit);
            }
        }
    }

    private static void checked(String section, Map<String, Object> values) {
        var known = KEYS.getOrDefault(section, Set.of());
        for (var key : values.keySet()) {
            if (!known.contains(key)) {
                throw new UsageException("unknown key " + (section.isEmpty() ? "" : section + ".") + key
                        + ": known are " + String.join(", ", new TreeSet<>(known)));
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

    /** Returns how much is logged, in the words of our logger. */
    String level() {
        return level;
    }

    private static String level(String theirs) {
        return switch (theirs.toLowerCase(Locale.ROOT)) {
            case "panic", "fatal", "error" -> "error";
            case "warn", "warning" -> "warn";
            case "info" -> "info";
            case "debug" -> "debug";
            case "trace" -> "trace";
            default ->
                throw new UsageException(
                        "logging.level is " + theirs + ": it must be trace, debug, info, warn, error, fatal or panic");
        };
    }

    String table() {
        return String.valueOf(harvest.getOrDefault("outboxTable", "outbox"));
    }

    /** Returns the database, with what Go's driver would take from the environment. */
    String dataSource(Map<String, String> environment) {
        var source = String.valueOf(harvest.getOrDefault(
                "dataSource", "host=localhost port=5432 user=postgres password= dbname=postgres sslmode=disable"));
        return GoDataSource.jdbc(source, environment, warnings);
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

    /** Returns the form that a table gets if there is none. */
    OutboxForm form() {
        return Optional.ofNullable(relay.get("form"))
                .map(String::valueOf)
                .map(ReaperFile::form)
                .orElse(OutboxForm.PLAIN);
    }

    private RelayConfig.Builder named() {
        var name = String.valueOf(harvest.getOrDefault("leaderGroupID", "reaper"));
        try {
            return RelayConfig.named(name);
        } catch (ElectionException e) {
            throw new UsageException("harvest.leaderGroupID is \"" + name + "\": " + e.getMessage(), e);
        }
    }

    RelayConfig.Builder config() {
        var builder = named().producer(kafka()).form(form());
        Optional.ofNullable(harvest.get("name")).map(String::valueOf).ifPresent(builder::candidate);
        limit("ioErrorBackoff").ifPresent(pause -> builder.backoff(pause).maxBackoff(longer(pause)));
        limit("markBackoff").ifPresent(poll -> builder.maxPoll(poll).minPoll(shorter(poll)));
        // the session was thrice the heartbeat timeout
        limit("heartbeatTimeout").ifPresent(heartbeat -> builder.lease(heartbeat.multipliedBy(3)));
        limit("minMetricsInterval").ifPresent(builder::meterInterval);
        number(limits, "maxInFlightRecords").ifPresent(builder::maxInFlightRecords);
        number(limits, "markQueryRecords").ifPresent(builder::maxTransactionRecords);
        number(relay, "shards").ifPresent(builder::shards);
        Optional.ofNullable(relay.get("poison"))
                .map(String::valueOf)
                .map(ReaperFile::poison)
                .ifPresent(builder::poison);
        number(relay, "maxInFlightBytes", Long::valueOf).ifPresent(builder::maxInFlightBytes);
        number(relay, "readAhead").ifPresent(builder::readAhead);
        duration(relay, "relay", "transactionInterval").ifPresent(builder::transactionInterval);
        duration(relay, "relay", "lease").ifPresent(builder::lease);
        duration(relay, "relay", "maxBackoff").ifPresent(builder::maxBackoff);
        duration(relay, "relay", "maxPoll")
                .ifPresent(poll -> builder.maxPoll(poll).minPoll(shorter(poll)));
        duration(relay, "relay", "haltRetry").ifPresent(builder::haltRetry);
        duration(relay, "relay", "sweepInterval").ifPresent(builder::sweepInterval);
        duration(relay, "relay", "databaseTimeout").ifPresent(builder::databaseTimeout);
        duration(relay, "relay", "standDownAfter").ifPresent(builder::standDownAfter);
        duration(relay, "relay", "retain").ifPresent(builder::retain);
        builder.partitioning(partitioning());
        Optional.ofNullable(relay.get("createTables"))
                .map(value -> truth("createTables", value))
                .ifPresent(builder::createTables);
        Optional.ofNullable(relay.get("once"))
                .map(value -> truth("once", value))
                .ifPresent(builder::once);
        Optional.ofNullable(relay.get("wakeUp"))
                .map(value -> truth("wakeUp", value))
                .ifPresent(builder::wakeUp);
        Optional.ofNullable(relay.get("eventIdHeader")).map(String::valueOf).ifPresent(builder::eventIdHeader);
        return builder;
    }

    /** Keys stay where the original put them: in the partition that its client, librdkafka, has for them. */
    private Partitioning partitioning() {
        var theirs = Optional.ofNullable(section(harvest, "producerKafkaConfig").get("partitioner"))
                .or(() ->
                        Optional.ofNullable(section(harvest, "baseKafkaConfig").get("partitioner")))
                .map(String::valueOf)
                .orElse("consistent_random");
        return switch (theirs) {
            case "consistent_random" -> Partitioning.CRC32;
            case "murmur2_random" -> Partitioning.MURMUR2;
            default ->
                throw new UsageException("partitioner is " + theirs
                        + ": it must be consistent_random, librdkafka's default, or murmur2_random, which is that of"
                        + " Java; with any other, keys would move to other partitions, and their order would end"
                        + " there");
        };
    }

    private static Duration shorter(Duration poll) {
        var usual = Duration.ofMillis(2);
        return poll.compareTo(usual) < 0 ? poll : usual;
    }

    private static Duration longer(Duration pause) {
        var usual = Duration.ofSeconds(10);
        return pause.compareTo(usual) > 0 ? pause : usual;
    }

    private static boolean truth(String name, Object value) {
        if (value instanceof Boolean truth) {
            return truth;
        }
        throw new UsageException("relay." + name + " is " + value + ": it must be true or false");
    }

    private static OutboxForm form(String name) {
        return switch (name.toLowerCase(Locale.ROOT)) {
            case "plain" -> OutboxForm.PLAIN;
            case "rotated" -> OutboxForm.ROTATED;
            default -> throw new UsageException("relay.form is " + name + ": it must be plain or rotated");
        };
    }

    private static Poison poison(String name) {
        try {
            return Poison.valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_'));
        } catch (IllegalArgumentException e) {
            throw new UsageException("relay.poison is " + name + ": it must be halt, block-key or park", e);
        }
    }

    private Optional<Duration> limit(String key) {
        return duration(limits, "harvest.limits", key);
    }

    private static Optional<Duration> duration(Map<String, Object> section, String name, String key) {
        return Optional.ofNullable(section.get(key)).map(value -> goDuration(name + "." + key, String.valueOf(value)));
    }

    private static Duration goDuration(String key, String text) {
        try {
            return new CommandDurations().convert(text);
        } catch (RuntimeException e) {
            throw new UsageException(key + " is " + text + ": write 10ms, 5s or 1m30s", e);
        }
    }

    private static Optional<Integer> number(Map<String, Object> section, String key) {
        return number(section, key, Integer::valueOf);
    }

    private static <N> Optional<N> number(Map<String, Object> section, String key, Function<String, N> parse) {
        return Optional.ofNullable(section.get(key)).map(value -> {
            try {
                return parse.apply(String.valueOf(value));
            } catch (NumberFormatException e) {
                throw new UsageException(key + " is " + value + ": it must be a number", e);
            }
        });
    }
}
