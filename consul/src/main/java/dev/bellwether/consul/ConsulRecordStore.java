package dev.bellwether.consul;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.consul.ConsulClient.Answer;
import dev.bellwether.http.Json;
import dev.bellwether.http.ReplaceableClient;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.LastSeen;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Records under a prefix of Consul. Thread-safe. */
final class ConsulRecordStore implements RecordStore {
    /*
     * A record is its text, with the time of its writing in a line before it: by an agent's clock, and for display.
     *
     * A write compares the index that its sender knows. Consul cannot compare values, so beside each record stands a
     * witness: an empty key with the digest of the value in its name. If we know the value, the write asks in the same
     * transaction that its witness is there. So a store that lost its last writes, and gave their indexes to others,
     * refuses it.
     *
     * Consul leaves a key at its index if it has the value that is written. But an index that stays would let a late
     * claim in, which the write was to keep away. So no value is written twice over itself.
     */
    private static final Logger log = LoggerFactory.getLogger(ConsulRecordStore.class);
    private static final Duration CLOCK_STEP = Duration.ofSeconds(1);
    private static final Duration GONE_FOR_LONG = Duration.ofMinutes(1);
    private static final Duration CLEANING = Duration.ofSeconds(5);
    private static final String RECORDS = "records/";

    private final ConsulSettings settings;
    private final ConsulClient client;
    private final ConsulWatch watch;
    private final LastSeen<Stored> known = new LastSeen<>();
    private final LastSeen<Long> unwitnessed = new LastSeen<>(); // by key, the index at which that was told

    /** What was last seen of a key. */
    private record Stored(long revision, String value) {}

    private ConsulRecordStore(ConsulSettings settings, ConsulClient client) {
        this.settings = settings;
        this.client = client;
        watch = new ConsulWatch(client, settings.prefix() + RECORDS);
    }

    /**
     * Looks whether agents answer, and whether we may read.
     *
     * @throws dev.bellwether.ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if no agent answers, or none has a leader
     */
    static ConsulRecordStore open(ConsulSettings settings, ReplaceableClient http) {
        var store = new ConsulRecordStore(settings, new ConsulClient(settings, http));
        ConsulDoctor.requireReachable(settings, store.client);
        return store;
    }

    @Override
    public String describe() {
        return settings.toString();
    }

    @Override
    public RecordTraits traits() {
        return settings.traits();
    }

    @Override
    public String session() {
        return client.session();
    }

    @Override
    public boolean isCrowded() {
        return client.isCrowded();
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        return ConsulDoctor.findings(settings, client);
    }

    // ---------------------------------------------------------------- records

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        var name = name(key);
        return client.read(urgency, ConsulClient.keys(name), List.of("consistent"), timeout)
                .thenApply(answer -> answer.json().items().stream()
                        .findFirst()
                        .map(kv -> found(name, kv))
                        .map(found -> key.parts().size() == RecordKey.OF_STANDBY ? withoutTime(found) : found)
                        .orElse(Found.NOTHING));
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        return write(key, expected, draft, client.now(), urgency, timeout);
    }

    /** Writes a record as of this time; of a millisecond later, if it would change nothing that is there. */
    CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Instant time, Urgency urgency, Duration timeout) {
        var name = name(key);
        var present = known.of(name).filter(seen -> seen.revision == expected);
        var same = value(time, draft.text());
        var now = present.filter(seen -> seen.value.equals(same)).isPresent() ? time.plusMillis(1) : time;
        var value = value(now, draft.text());
        var operations = new ArrayList<String>();
        present.ifPresent(seen -> operations.add(operation("get", witness(key, seen.value), "")));
        operations.add(operation("cas", name, ",\"Index\":" + expected + ",\"Value\":\"" + value + "\""));
        operations.add(operation("delete-tree", witness(key, ""), ""));
        operations.add(operation("set", witness(key, value), ",\"Value\":\"\""));
        return client.write(urgency, transaction(operations), timeout).thenApply(answer -> {
            if (!answer.isDone()) {
                warnOfWitness(name, expected, present.isPresent(), answer.json().list("Errors"));
                return Written.outdated(-1);
            }
            var revision = answer.json().list("Results").stream()
                    .map(result -> result.at("KV"))
                    .filter(kv -> kv.text("Key").equals(name))
                    .mapToLong(kv -> kv.number("ModifyIndex"))
                    .max()
                    .orElseThrow(() -> new UnavailableException(settings + ": a write was answered without its index"));
            known.put(name, new Stored(revision, value));
            return Written.at(revision, now);
        });
    }

    /**
     * Consul names all operations that failed. If that is the first alone, the index is the one that we know, and the
     * witness is not there. Each further write of the record is refused then.
     */
    private void warnOfWitness(String name, long expected, boolean isAsked, List<Json> errors) {
        if (!isAsked || errors.size() != 1 || errors.get(0).number("OpIndex") != 0) {
            return; // somebody else has written
        }
        if (!unwitnessed.of(name).equals(Optional.of(expected))) { // told once
            unwitnessed.put(name, expected);
            log.warn(
                    "{}: the witness of the key {}, at index {}, is gone. Either somebody deleted keys under"
                            + " {}witnesses/, or wrote this key, by hand; or the servers were put back to an older"
                            + " state, which passes. Nobody can claim or renew by this key. If that lasts, close all"
                            + " candidacies that use it, wait for their longest lease, delete the key (consul kv"
                            + " delete '{}'), and start them again",
                    settings,
                    name,
                    expected,
                    settings.prefix(),
                    name);
        }
    }

    private Found found(String name, Json kv) {
        var stored = new Stored(kv.number("ModifyIndex"), kv.text("Value"));
        known.put(name, stored);
        var text = decoded(stored.value);
        var line = text.indexOf('\n');
        if (line < 0 || !text.substring(0, line).matches("[0-9]{1,15}")) {
            return new Found(text.isEmpty() ? What.DELETED : What.TEXT, stored.revision, Instant.EPOCH, text);
        }
        var written = Instant.ofEpochMilli(Long.parseLong(text.substring(0, line)));
        var record = text.substring(line + 1);
        return new Found(record.isEmpty() ? What.DELETED : What.TEXT, stored.revision, written, record);
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        var from = folder(parts) + undotted(RecordKey.pathOf(beginning, parts));
        var standbys = parts == RecordKey.OF_STANDBY;
        return client.read(Urgency.LIST, ConsulClient.keys(from), List.of(standbys ? "recurse" : "keys"), timeout)
                .thenApply(answer -> new Listing(
                        (standbys ? standing(answer) : answer.json().texts().stream())
                                .flatMap(name ->
                                        RecordKey.ofPath(
                                                name.substring(folder(parts).length()), parts)
                                                .stream())
                                .toList(),
                        Optional.of(client.now().minus(CLOCK_STEP)),
                        true));
    }

    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        var name = name(key);
        return watch.add(name, kv -> heard.accept(found(name, kv)));
    }

    // ---------------------------------------------------------------- what is displayed

    /**
     * The names of standbys whose time is not over. A process that sees others removes them a while later, if it may.
     */
    private Stream<String> standing(Answer answer) {
        var now = client.now();
        var gone = new ArrayList<String>();
        var standing = new ArrayList<String>();
        for (var kv : answer.json().items()) {
            var until = until(kv);
            if (until.isAfter(now)) {
                standing.add(kv.text("Key"));
            } else if (until.plus(GONE_FOR_LONG).isBefore(now)) {
                gone.add(operation("delete-cas", kv.text("Key"), ",\"Index\":" + kv.number("ModifyIndex")));
            }
        }
        for (var from = 0; from < gone.size(); from += ConsulClient.MOST_OPERATIONS) {
            var some = gone.subList(from, Math.min(gone.size(), from + ConsulClient.MOST_OPERATIONS));
            var unused = client.write(Urgency.LIST, transaction(some), CLEANING);
        }
        return standing.stream();
    }

    private static Found withoutTime(Found standby) {
        var text = standby.text();
        return new Found(standby.what(), standby.revision(), standby.written(), text.substring(text.indexOf('\n') + 1));
    }

    private static Instant until(Json kv) {
        var text = decoded(kv.text("Value")).lines().skip(1).findFirst().orElse("");
        return text.matches("[0-9]{1,15}") ? Instant.ofEpochMilli(Long.parseLong(text)) : Instant.EPOCH;
    }

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        var until = client.now().plus(kept).toEpochMilli();
        var set = operation("set", name(key), ",\"Value\":\"" + value(client.now(), until + "\n" + text) + "\"");
        return client.write(Urgency.LIST, transaction(List.of(set)), timeout);
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        var operations = List.of(operation("delete", name(key), ""), operation("delete-tree", witness(key, ""), ""));
        return client.write(Urgency.LIST, transaction(operations), timeout);
    }

    // ---------------------------------------------------------------- names and values

    /** What is watched stands apart from what is not. */
    private String folder(int parts) {
        return settings.prefix() + (parts == RecordKey.OF_STANDBY ? "" : RECORDS);
    }

    private String name(RecordKey key) {
        return folder(key.parts().size()) + undotted(key.path());
    }

    /** A part that is a dot, or two, would be taken for a folder by Consul's server. */
    private static String undotted(String path) {
        return path.replaceAll("(?<=/)\\.(?=/|$)", "%2E").replaceAll("(?<=/)\\.\\.(?=/|$)", "%2E%2E");
    }

    /** Returns the key whose presence says that the record has this value; what all such begin with, if it is empty. */
    private String witness(RecordKey key, String value) {
        var folder = settings.prefix() + "witnesses/" + key.path() + "/";
        try {
            return value.isEmpty()
                    ? folder
                    : folder
                            + Base64.getUrlEncoder()
                                    .withoutPadding()
                                    .encodeToString(MessageDigest.getInstance("SHA-256")
                                            .digest(value.getBytes(StandardCharsets.UTF_8)))
                                    .substring(0, 22);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    private static String value(Instant now, String text) {
        var dated = now.toEpochMilli() + "\n" + text;
        return Base64.getEncoder().encodeToString(dated.getBytes(StandardCharsets.UTF_8));
    }

    private static String decoded(String base64) {
        return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
    }

    /** Names are made of what needs no escape in JSON: of a prefix that a URI holds, and of paths. */
    private static String operation(String verb, String key, String more) {
        return "{\"KV\":{\"Verb\":\"" + verb + "\",\"Key\":\"" + key + "\"" + more + "}}";
    }

    private static String transaction(List<String> operations) {
        return operations.stream().collect(Collectors.joining(",", "[", "]"));
    }

    @Override
    public void close() {
        watch.close();
    }
}
