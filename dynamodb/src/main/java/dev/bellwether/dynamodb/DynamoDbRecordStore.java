package dev.bellwether.dynamodb;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.LastSeen;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.GetItemResponse;
import software.amazon.awssdk.services.dynamodb.model.PutItemRequest;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;

/** Records in the items of a table. Thread-safe. */
final class DynamoDbRecordStore implements RecordStore {
    /*
     * The revision of an item is the time of its writing in milliseconds, by the clock that DynamoDB's answers show,
     * and higher by one at least than that of the item that it replaces. So revisions rise also where an item was
     * deleted, or the table made again or restored, and no counter has to be written.
     *
     * A write compares the revision that its sender knows and, if it knows it, the record: revisions that a restored
     * table gives again deceive nobody. DynamoDB returns what stands there when it refuses. If that is what was to be
     * written, it was carried out before: a client, or the network, has brought it twice. Records bear a random stamp,
     * so that nobody else can have written the same.
     */
    private static final Duration CLOCK_STEP = Duration.ofSeconds(1);
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final long LONG_GONE_SECONDS = 60;
    private static final AttributeValue NONE = AttributeValue.fromNul(true);

    /** Each list removes so many standbys that are gone: the next one goes on. */
    private static final int MOST_CLEANED = 20;

    private final DynamoDbSettings settings;
    private final TableClient client;
    private final DynamoDbDoctor doctor;
    private final DynamoDbWatch watch;
    private final Runnable atClose;
    private final LastSeen<Stored> known = new LastSeen<>();

    /** What was last seen under a key. */
    private record Stored(long revision, String text) {}

    private DynamoDbRecordStore(
            DynamoDbSettings settings, TableClient client, DynamoDbDoctor doctor, Runnable atClose) {
        this.settings = settings;
        this.client = client;
        this.doctor = doctor;
        this.atClose = atClose;
        watch = new DynamoDbWatch(client, settings.poll());
    }

    /**
     * Looks whether DynamoDB answers, and whether the table is there and as it must be.
     *
     * @param atClose let go of, when the store is closed
     * @throws ElectionException if something is wrong that a person must fix
     * @throws dev.bellwether.UnavailableException if it does not answer
     */
    static DynamoDbRecordStore open(
            DynamoDbSettings settings, DynamoDbAsyncClient sdk, Runnable unanswered, Runnable atClose) {
        var client = new TableClient(settings, sdk, unanswered);
        try {
            return new DynamoDbRecordStore(settings, client, DynamoDbDoctor.look(settings, client), atClose);
        } catch (RuntimeException | Error e) {
            client.close();
            throw e;
        }
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
    public void check(String election, CandidacyConfig candidacy) {
        doctor.requireOneDecider();
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        return DynamoDbDoctor.look(settings, client).findings(candidacy);
    }

    // ---------------------------------------------------------------- records

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        return get(urgency, key, true, timeout)
                .thenApply(answer -> answer.hasItem() ? remembered(answer.item()) : Found.NOTHING);
    }

    private CompletableFuture<GetItemResponse> get(
            Urgency urgency, RecordKey key, boolean consistent, Duration timeout) {
        return client.send(
                urgency,
                "GetItem",
                timeout,
                sdk -> sdk.getItem(
                        get -> get.tableName(settings.table()).key(key(key)).consistentRead(consistent)));
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        var revision = Math.max(expected + 1, client.now().toEpochMilli());
        var item = item(key, revision, draft.text());
        var put = PutItemRequest.builder()
                .tableName(settings.table())
                .item(item)
                .conditionExpression("attribute_not_exists(pk)")
                .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD);
        if (expected > 0) {
            var values = new HashMap<>(Map.of(":rev", number(expected)));
            var same = known.of(name(item)).filter(seen -> seen.revision == expected);
            same.ifPresent(seen -> values.put(":body", text(seen.text)));
            put.conditionExpression("rev = :rev" + (same.isPresent() ? " AND body = :body" : ""))
                    .expressionAttributeValues(values);
        }
        return client.send(urgency, "PutItem", timeout, sdk -> sdk.putItem(put.build()))
                .handle((answer, error) ->
                        answer == null ? refused(item, error) : Written.at(revision, Instant.ofEpochMilli(revision)))
                .thenApply(written -> {
                    if (written.done()) {
                        known.put(name(item), new Stored(revision, draft.text()));
                    }
                    return written;
                });
    }

    /** What was not written: unless it stands there, since it was carried out before. */
    private Written refused(Map<String, AttributeValue> item, Throwable error) {
        var cause = Causes.unwrapped(error);
        if (!(cause instanceof ConditionalCheckFailedException refusal)) {
            throw cause instanceof RuntimeException plain ? plain : new CompletionException(cause);
        }
        if (!refusal.hasItem()) {
            return Written.outdated(0);
        }
        var present = remembered(refusal.item());
        return !present.text().isEmpty() && item.equals(refusal.item())
                ? Written.at(present.revision(), present.written())
                : Written.outdated(present.revision());
    }

    private Found remembered(Map<String, AttributeValue> item) {
        var found = found(item);
        known.put(name(item), new Stored(found.revision(), found.text()));
        return found;
    }

    private Found found(Map<String, AttributeValue> item) {
        var revision = value(item, "rev").n();
        var text = value(item, "body").s();
        if (text == null || revision == null || !revision.matches("[1-9][0-9]{0,17}")) {
            throw new ElectionException(settings + ": the item " + name(item)
                    + " was not written by Bellwether. Delete it, or use another prefix");
        }
        var at = Long.parseLong(revision);
        return new Found(text.isEmpty() ? What.DELETED : What.TEXT, at, Instant.ofEpochMilli(at), text);
    }

    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        return watch.add(
                () -> get(Urgency.LIST, key, false, PATIENCE)
                        .thenApply(answer -> answer.hasItem() ? found(answer.item()) : Found.NOTHING),
                heard);
    }

    // ---------------------------------------------------------------- what is listed and displayed

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        var values = new HashMap<>(Map.of(":pk", text(partition(parts))));
        if (!beginning.isEmpty()) {
            values.put(":sk", text(sortKey(beginning) + "/"));
        }
        var items = new ConcurrentLinkedQueue<Map<String, AttributeValue>>();
        return client.send(
                        Urgency.LIST,
                        "Query",
                        timeout,
                        sdk -> sdk.queryPaginator(query -> query.tableName(settings.table())
                                        .keyConditionExpression(
                                                "pk = :pk" + (beginning.isEmpty() ? "" : " AND begins_with(sk, :sk)"))
                                        .expressionAttributeValues(values)
                                        .projectionExpression("pk, sk, rev, expires")
                                        .consistentRead(parts == RecordKey.OF_SEAT))
                                .items()
                                .subscribe(items::add)
                                .thenApply(done -> items))
                .thenApply(all -> new Listing(
                        standing(all, parts), Optional.of(client.now().minus(CLOCK_STEP)), true));
    }

    /** The keys whose time is not over. A process that sees others removes some of them a while later, if it may. */
    private List<RecordKey> standing(Collection<Map<String, AttributeValue>> items, int parts) {
        var now = client.now().getEpochSecond();
        var standing = new ArrayList<RecordKey>();
        var cleaned = 0;
        for (var item : items) {
            var expires = value(item, "expires").n();
            var left = expires == null ? 1 : Long.parseLong(expires) - now;
            var key = new RecordKey(Arrays.stream(value(item, "sk").s().split("/", -1))
                    .map(part -> part.replace("%2F", "/").replace("%25", "%"))
                    .toList());
            if (left > 0 && key.parts().size() == parts) {
                standing.add(key);
            } else if (left < -LONG_GONE_SECONDS && cleaned++ < MOST_CLEANED) {
                clean(item);
            }
        }
        return standing;
    }

    /** Removes what was listed, unless it was written again meanwhile: what is listed may be old. */
    private void clean(Map<String, AttributeValue> item) {
        var unused = client.send(
                Urgency.LIST,
                "DeleteItem",
                PATIENCE,
                sdk -> sdk.deleteItem(delete -> delete.tableName(settings.table())
                        .key(Map.of("pk", value(item, "pk"), "sk", value(item, "sk")))
                        .conditionExpression("rev = :rev")
                        .expressionAttributeValues(Map.of(":rev", value(item, "rev")))));
    }

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        var item = item(key, client.now().toEpochMilli(), text);
        item.put("expires", number(client.now().plus(kept).getEpochSecond() + 1));
        return client.send(
                Urgency.LIST,
                "PutItem",
                timeout,
                sdk -> sdk.putItem(put -> put.tableName(settings.table()).item(item)));
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        return client.send(
                Urgency.LIST,
                "DeleteItem",
                timeout,
                sdk -> sdk.deleteItem(
                        delete -> delete.tableName(settings.table()).key(key(key))));
    }

    // ---------------------------------------------------------------- keys and values

    /**
     * All seats stand in one partition, and all standbys, so that they can be listed; each session in one of its own.
     */
    private Map<String, AttributeValue> key(RecordKey key) {
        var partition = partition(key.parts().size())
                + (key.isSession() ? "#" + key.parts().get(1) : "");
        return Map.of("pk", text(partition), "sk", text(sortKey(key.parts())));
    }

    /** No prefix has such a sign in it. */
    private String partition(int parts) {
        return settings.prefix() + "#" + RecordKey.folder(parts).replace("/", "");
    }

    private static String sortKey(List<String> parts) {
        return parts.stream()
                .map(part -> part.replace("%", "%25").replace("/", "%2F"))
                .collect(Collectors.joining("/"));
    }

    private Map<String, AttributeValue> item(RecordKey key, long revision, String text) {
        var item = new HashMap<>(key(key));
        item.put("rev", number(revision));
        item.put("body", text(text));
        return item;
    }

    private static String name(Map<String, AttributeValue> item) {
        return value(item, "pk").s() + " " + value(item, "sk").s();
    }

    private static AttributeValue value(Map<String, AttributeValue> item, String name) {
        return item.getOrDefault(name, NONE);
    }

    private static AttributeValue text(String text) {
        return AttributeValue.fromS(text);
    }

    private static AttributeValue number(long number) {
        return AttributeValue.fromN(Long.toString(number));
    }

    @Override
    public void close() {
        client.close();
        atClose.run();
    }
}
