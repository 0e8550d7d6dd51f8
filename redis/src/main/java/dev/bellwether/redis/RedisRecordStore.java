package dev.bellwether.redis;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.LastSeen;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Records under a prefix of a server of Valkey or Redis. Thread-safe. */
final class RedisRecordStore implements RecordStore {
    /*
     * A value is a line with its revision and the time of its writing in milliseconds, then the record. A write
     * compares the revision that its sender knows, and the whole value, if we know that too.
     *
     * Revisions are microseconds of the server's clock, and one more than the last where that is not more: so they rise
     * also if all keys were lost, the last revision among them, unless the clock was set back meanwhile. Nothing else
     * goes by that clock.
     *
     * Scripts say that they write, also if they only read, and that they go by no bound of memory: so a server that is
     * a replica by now refuses a reading, which may be old there, and one that is full refuses nothing.
     */
    private static final String FLAGS = "#!lua flags=allow-oom\n";

    private static final String READ = FLAGS + "return {redis.call('GET', KEYS[1])}";

    private static final String WRITE = FLAGS + """
            local present = redis.call('GET', KEYS[1])
            local at = 0
            if present then
              local digits = string.match(present, '^(%d+) %d+\\n')
              at = digits and #digits <= 16 and tonumber(digits) or 1
            end
            if at ~= tonumber(ARGV[1]) or (ARGV[2] ~= '' and present ~= ARGV[2]) then
              return {0, string.format('%.0f', at)}
            end
            local now = redis.call('TIME')
            local last = tonumber(redis.call('GET', KEYS[2])) or 0
            local given = string.format('%.0f', math.max(now[1] * 1000000 + now[2], at + 1, last + 1))
            local millis = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
            local value = given .. ' ' .. millis .. '\\n' .. ARGV[3]
            redis.call('SET', KEYS[2], given)
            redis.call('SET', KEYS[1], value)
            redis.call('ZADD', KEYS[3], 0, ARGV[4])
            redis.pcall('PUBLISH', ARGV[5], value)
            return {1, given, value}
            """;

    private static final String PUT = FLAGS + """
            local now = redis.call('TIME')
            local micros = string.format('%.0f', now[1] * 1000000 + now[2])
            local millis = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
            redis.call('SET', KEYS[1], micros .. ' ' .. millis .. '\\n' .. ARGV[1], 'PX', ARGV[2])
            redis.call('ZADD', KEYS[2], 0, ARGV[3])
            return {}
            """;

    private static final String REMOVE = FLAGS + """
            redis.call('DEL', KEYS[1])
            redis.call('ZREM', KEYS[2], ARGV[1])
            return {}
            """;

    /** Names stay in the index when their keys have run out: who lists them removes them, if they may. */
    private static final String LIST = FLAGS + """
            local now = redis.call('TIME')
            local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
            local whole = #names < tonumber(ARGV[3]) and '1' or '0'
            local found = {string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000)), whole}
            for _, name in ipairs(names) do
              if redis.call('EXISTS', ARGV[4] .. name) == 1 then
                found[#found + 1] = name
              else
                redis.pcall('ZREM', KEYS[1], name)
              end
            end
            return found
            """;

    private static final int MOST_LISTED = 100_000;
    private static final long CLOSE_MILLIS = 1_000;
    private static final Pattern VALUE = Pattern.compile("(?s)([0-9]{1,16}) ([0-9]{1,15})\n(.*)");

    private final RedisSettings settings;
    private final RedisConnection connection;
    private final RedisWatch watch;
    private final DurabilityGuard durability;
    private final Runnable atClose;
    private final RecordTraits traits;
    private final LastSeen<Stored> known = new LastSeen<>();
    private final LastSeen<Duration> claimed = new LastSeen<>(); // with which lease, where there was no record

    /** What was last seen of a key. */
    private record Stored(long revision, String value) {}

    private RedisRecordStore(
            RedisSettings settings,
            RedisConnection connection,
            RedisWatch watch,
            DurabilityGuard durability,
            boolean isDurable,
            Runnable atClose) {
        this.settings = settings;
        this.connection = connection;
        this.watch = watch;
        this.durability = durability;
        this.atClose = atClose;
        // a server whose losses are accepted may come to lose something at any time
        traits = settings.traits().vanishing(settings.accepted() || !isDurable);
    }

    /**
     * Looks whether the server answers, and what it is.
     *
     * @param atClose let go of, when the store is closed
     * @throws ElectionException if something is wrong that a person must fix
     * @throws dev.bellwether.UnavailableException if it does not answer, or is a replica
     */
    static RedisRecordStore open(RedisSettings settings, RedisClient client, Runnable atClose) {
        var connection = new RedisConnection(settings, client);
        try {
            var session = connection.session();
            var found = RedisDoctor.look(settings, connection);
            var durability = new DurabilityGuard(settings, connection, session, found);
            return new RedisRecordStore(
                    settings, connection, new RedisWatch(settings, client), durability, found.isDurable(), atClose);
        } catch (RuntimeException | Error e) {
            connection.close();
            throw e;
        }
    }

    @Override
    public String describe() {
        return settings.toString();
    }

    @Override
    public RecordTraits traits() {
        return traits;
    }

    @Override
    public String session() {
        return connection.session();
    }

    @Override
    public boolean isCrowded() {
        return connection.isCrowded();
    }

    @Override
    public void check(String election, CandidacyConfig candidacy) {
        durability.requireDurable();
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        return RedisDoctor.look(settings, connection).findings();
    }

    // ---------------------------------------------------------------- records

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        var name = name(key);
        return connection
                .ask(urgency, READ, List.of(name), timeout)
                .thenApply(answer -> answer.isEmpty() ? Found.NOTHING : found(name, (String) answer.get(0)));
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        var begun = System.nanoTime();
        if (expected != 0 || key.parts().size() != RecordKey.OF_SEAT || traits.mayVanish()) {
            return write("", begun, key, expected, draft, urgency, timeout);
        }
        var lease = Duration.ofNanos(Fields.parse(draft.text()).number("lease_nanos"));
        var isClaim = !draft.leader().isEmpty();
        if (!isClaim && !lease.isZero()) { // others watch that for its lease before they claim
            return write("", begun, key, expected, draft, urgency, timeout);
        }
        if (isClaim) {
            claimed.put(name(key), lease);
        }
        // what keeps a claim of ours away, and an order, leave a seat that is free at once
        return durability
                .durable(timeout, isClaim ? Optional.of(lease) : claimed.of(name(key)))
                .thenCompose(session -> write(session, begun, key, expected, draft, urgency, timeout));
    }

    private CompletionStage<Written> write(
            String session,
            long begunNanos,
            RecordKey key,
            long expected,
            Draft draft,
            Urgency urgency,
            Duration timeout) {
        var name = name(key);
        var same = known.of(name).filter(seen -> seen.revision == expected).map(Stored::value);
        return connection
                .ask(
                        session,
                        begunNanos,
                        urgency,
                        WRITE,
                        List.of(name, counter(), index(key.parts().size())),
                        timeout,
                        Long.toString(expected),
                        same.orElse(""),
                        draft.text(),
                        key.path(),
                        channel(name))
                .thenApply(answer -> {
                    var revision = Long.parseLong((String) answer.get(1));
                    if ((Long) answer.get(0) == 0) {
                        return Written.outdated(revision);
                    }
                    return Written.at(
                            revision, found(name, (String) answer.get(2)).written());
                });
    }

    private Found found(String name, @Nullable String value) {
        if (value == null) {
            return Found.NOTHING;
        }
        var parts = VALUE.matcher(value);
        var isOurs = parts.matches();
        var revision = isOurs ? Long.parseLong(parts.group(1)) : 1;
        known.put(name, new Stored(revision, value));
        var written = isOurs ? Instant.ofEpochMilli(Long.parseLong(parts.group(2))) : Instant.EPOCH;
        var text = isOurs ? parts.group(3) : value;
        return new Found(text.isEmpty() ? What.DELETED : What.TEXT, revision, written, text);
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        return list(beginning, parts, MOST_LISTED, timeout);
    }

    /** Lists so many names at most. */
    CompletionStage<Listing> list(List<String> beginning, int parts, int most, Duration timeout) {
        var from = RecordKey.pathOf(beginning, parts);
        return connection
                .ask(
                        Urgency.LIST,
                        LIST,
                        List.of(index(parts)),
                        timeout,
                        "[" + from,
                        "(" + from.substring(0, from.length() - 1) + "0",
                        Integer.toString(most),
                        settings.prefix() + ":")
                .thenApply(answer -> new Listing(
                        answer.stream()
                                .skip(2)
                                .flatMap(path -> RecordKey.ofPath((String) path, parts).stream())
                                .toList(),
                        Optional.of(Instant.ofEpochMilli(Long.parseLong((String) answer.get(0)))),
                        answer.get(1).equals("1")));
    }

    @Override
    public CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return connection
                .ask(Urgency.LOOK, READ, List.of(counter()), timeout)
                .thenApply(answer ->
                        answer.isEmpty() || !(answer.get(0) instanceof String last) ? 0L : Long.parseLong(last));
    }

    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        var name = name(key);
        return watch.add(
                channel(name),
                value -> heard.accept(found(name, value)),
                () -> read(key, Urgency.LIST, RedisConnection.PATIENCE).thenAccept(heard));
    }

    // ---------------------------------------------------------------- what is displayed

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        var keys = List.of(name(key), index(key.parts().size()));
        var millis = Long.toString(Math.max(1, kept.toMillis()));
        return connection.ask(Urgency.LIST, PUT, keys, timeout, text, millis, key.path());
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        var keys = List.of(name(key), index(key.parts().size()));
        return connection.ask(Urgency.LIST, REMOVE, keys, timeout, key.path());
    }

    // ---------------------------------------------------------------- names

    private String name(RecordKey key) {
        return settings.prefix() + ":" + key.path();
    }

    /** It is in no folder of records, whatever prefixes there are. */
    private String counter() {
        return settings.prefix() + ":state/revision";
    }

    private String index(int parts) {
        return settings.prefix() + ":state/" + RecordKey.folder(parts);
    }

    private String channel(String name) {
        return name + settings.channels();
    }

    @Override
    public void close() {
        var ended = CompletableFuture.allOf(watch.end(), connection.end());
        var unused =
                ended.whenComplete((done, error) -> atClose.run()); // a client that closes them again warns of that
        var unusedToo = ended.orTimeout(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
    }
}
