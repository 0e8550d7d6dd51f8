package dev.bellwether.cli.outbox;

import dev.bellwether.ElectionException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.cli.page.PageClock;
import dev.bellwether.cli.page.PageServer;
import dev.bellwether.outbox.OutboxAdmin;
import dev.bellwether.outbox.OutboxAdmin.BlockedRecord;
import dev.bellwether.outbox.OutboxAdmin.ParkedRecord;
import dev.bellwether.outbox.OutboxAdmin.ShardState;
import dev.bellwether.outbox.OutboxAdmin.State;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Looks at an outbox and tells a page of it; requeues what is parked. Thread-safe. */
public final class OutboxMonitor implements PageServer.Orders {
    private static final int LISTED = 200;
    private static final int COUNTED = 1_000;

    private final JdbcSource database;
    private final OutboxAdmin admin;
    private final OneQuestion questions;
    private final Feed feed;
    private final PageClock clock;
    private final boolean readOnly;
    private final BacklogHistory history; // guarded by this
    private final Set<Integer> shards = new HashSet<>(); // guarded by this
    private double answeredAt; // guarded by this

    /** What was seen at one time. */
    private record Seen(State state, List<ParkedRecord> parked, List<BlockedRecord> blocked) {}

    /**
     * Where the outbox is.
     *
     * @param uri of the database
     * @param table its name
     * @param timeout how long to wait for an answer
     */
    public record Place(String uri, String table, Duration timeout) {
        /** Refuses what no outbox may be called. */
        public Place {
            OutboxCommand.requireName(table);
        }
    }

    /**
     * Looks for the first time.
     *
     * @throws ElectionException if there is no answer, or no such outbox
     */
    public static OutboxMonitor start(Place place, Feed feed, PageClock clock, Duration refresh, boolean readOnly)
            throws Exception {
        var database = JdbcSource.of(place.uri()).within(place.timeout());
        var questions = new OneQuestion(
                new Bounded(place.timeout(), () -> BackendOptions.late(database.uri(), place.timeout())));
        var layout = questions.ask(() -> database.use(connection -> OutboxSchema.layout(connection, place.table())));
        if (layout.isEmpty()) {
            throw new ElectionException("there is no table " + place.table() + " on " + database.uri()
                    + ": name it with --table, or make it with bellwether outbox migrate");
        }
        var table = new OutboxTable(place.table(), layout.get());
        var monitor = new OutboxMonitor(database, OutboxAdmin.of(database, table), questions, feed, clock, readOnly);
        feed.put("outbox", "", json -> {
            json.writeStringField("on", database.uri().toString());
            json.writeStringField("table", place.table());
            json.writeBooleanField("readOnly", readOnly);
            json.writeNumberField("refresh", refresh.toMillis());
        });
        monitor.tell(monitor.ask());
        return monitor;
    }

    private OutboxMonitor(
            JdbcSource database,
            OutboxAdmin admin,
            OneQuestion questions,
            Feed feed,
            PageClock clock,
            boolean readOnly) {
        this.database = database;
        this.admin = admin;
        this.questions = questions;
        this.feed = feed;
        this.clock = clock;
        this.readOnly = readOnly;
        history = new BacklogHistory(feed);
    }

    /** Looks again. What is not known then is told as unknown. */
    public void look() throws Exception {
        try {
            tell(ask());
        } catch (ElectionException e) {
            complain(String.valueOf(e.getMessage()));
        }
    }

    private Seen ask() throws Exception {
        return ask(() -> new Seen(admin.quickState(), admin.parked(COUNTED), admin.blocked(LISTED)));
    }

    private interface Question<T> {
        T ask() throws SQLException;
    }

    private <T> T ask(Question<T> question) throws Exception {
        return questions.ask(() -> {
            try {
                return question.ask();
            } catch (SQLException e) {
                throw database.failed(e);
            }
        });
    }

    private synchronized void complain(String complaint) {
        feed.put("outbox-answer", "", json -> {
            json.writeStringField("complaint", complaint);
            json.writeNumberField("unknownSince", answeredAt);
        });
    }

    private synchronized void tell(Seen seen) {
        answeredAt = clock.now();
        feed.put("outbox-answer", "", json -> json.writeStringField("complaint", ""));
        var state = seen.state;
        var rate = state.shards().stream()
                .filter(ShardState::isServed)
                .mapToDouble(ShardState::ratePerSecond)
                .sum();
        history.add(new BacklogHistory.Sample(
                answeredAt, state.backlog(), state.oldest().toMillis(), rate));
        feed.put("outbox-state", "", json -> {
            json.writeNumberField("backlog", state.backlog());
            json.writeBooleanField("exact", state.exact());
            json.writeNumberField("oldest", state.oldest().toMillis());
            json.writeNumberField("rate", rate);
            json.writeNumberField("parked", state.parked());
            json.writeNumberField("blocked", state.blocked());
        });
        var there = new HashSet<Integer>();
        for (var shard : state.shards()) {
            there.add(shard.shard());
            tell(shard);
        }
        shards.stream()
                .filter(shard -> !there.contains(shard))
                .forEach(shard -> feed.remove("shard", Integer.toString(shard)));
        shards.clear();
        shards.addAll(there);
        tellBlocked(seen.blocked);
        tellParked(seen.parked);
    }

    private void tell(ShardState shard) {
        feed.put("shard", Integer.toString(shard.shard()), json -> {
            json.writeNumberField("shard", shard.shard());
            json.writeStringField("leader", shard.relay());
            json.writeBooleanField("served", shard.isServed());
            json.writeNumberField("since", shard.since().toEpochMilli());
            json.writeNumberField("silent", shard.silent().toMillis());
            json.writeNumberField("rate", shard.ratePerSecond());
            json.writeNumberField("published", shard.published());
        });
    }

    private void tellBlocked(List<BlockedRecord> blocked) {
        feed.put("blocked", "", json -> {
            json.writeArrayFieldStart("records");
            for (var one : blocked) {
                json.writeStartObject();
                OutboxJson.blocked(json, one);
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    private void tellParked(List<ParkedRecord> parked) {
        var topics = new TreeMap<String, Integer>();
        parked.forEach(one -> topics.merge(one.topic(), 1, Integer::sum));
        feed.put("parked", "", json -> {
            json.writeBooleanField("more", parked.size() == COUNTED);
            json.writeArrayFieldStart("topics");
            for (var topic : topics.entrySet()) {
                json.writeStartObject();
                json.writeStringField("topic", topic.getKey());
                json.writeNumberField("count", topic.getValue());
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeArrayFieldStart("records");
            for (var one : parked.subList(0, Math.min(LISTED, parked.size()))) {
                json.writeStartObject();
                OutboxJson.parked(json, one);
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    @Override
    public void order(Map<String, String> words) {
        if (readOnly) {
            throw new IllegalStateException("this console is read-only");
        }
        var action = words.getOrDefault("action", "");
        try {
            switch (action) {
                case "requeue" -> requeue(words.getOrDefault("id", ""));
                case "requeue-topic" -> requeueTopic(words.getOrDefault("topic", ""));
                default -> throw new IllegalArgumentException("there is no action \"" + action + "\"");
            }
            look();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the console ends", e);
        } catch (RuntimeException e) {
            throw e instanceof IllegalArgumentException ? e : new IllegalStateException(e.getMessage(), e);
        } catch (Exception e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    private void requeue(String id) throws Exception {
        if (!id.matches("-?\\d{1,18}")) {
            throw new IllegalArgumentException("\"" + id + "\" is not the id of a record");
        }
        if (!ask(() -> admin.requeue(Long.parseLong(id)))) {
            throw new IllegalStateException("no parked record " + id + ": it may have been requeued already");
        }
    }

    private void requeueTopic(String topic) throws Exception {
        var last = ask(() -> admin.lastParked(topic));
        if (last.isEmpty()) {
            throw new IllegalStateException("no record of topic " + topic + " is parked any more");
        }
        for (var more = true; more; ) {
            more = ask(() -> admin.requeueTopic(topic, last.getAsLong(), LISTED)) > 0;
        }
    }
}
