package dev.bellwether.cli.outbox;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.bellwether.cli.command.Json;
import dev.bellwether.outbox.OutboxAdmin;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What is known of an outbox, as JSON. */
final class OutboxJson {
    private OutboxJson() {}

    /** Writes how it stands, and when that was so if it is one of several. */
    static String state(OutboxAdmin.State state, Optional<Instant> time) {
        return Json.object(json -> {
            if (time.isPresent()) {
                json.writeStringField("time", time.get().toString());
            }
            json.writeNumberField("backlog", state.backlog());
            json.writeBooleanField("exact", state.exact());
            json.writeNumberField("oldestMillis", state.oldest().toMillis());
            json.writeNumberField("parked", state.parked());
            json.writeNumberField("blocked", state.blocked());
            json.writeArrayFieldStart("shards");
            for (var shard : state.shards()) {
                json.writeStartObject();
                json.writeNumberField("shard", shard.shard());
                json.writeStringField("leader", shard.relay());
                json.writeNumberField("epoch", shard.epoch());
                json.writeStringField("since", shard.since().toString());
                json.writeStringField("seen", shard.seen().toString());
                json.writeNumberField("silentMillis", shard.silent().toMillis());
                json.writeBooleanField("served", shard.isServed());
                json.writeNumberField("rate", shard.ratePerSecond());
                json.writeNumberField("published", shard.published());
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    static String findings(List<OutboxAdmin.Finding> findings) {
        return Json.object(json -> {
            json.writeArrayFieldStart("findings");
            for (var finding : findings) {
                json.writeStartObject();
                json.writeStringField("severity", finding.severity().name().toLowerCase(Locale.ROOT));
                json.writeStringField("what", finding.what());
                if (finding.remedy() == null) {
                    json.writeNullField("remedy");
                } else {
                    json.writeStringField("remedy", finding.remedy());
                }
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    static String parked(List<OutboxAdmin.ParkedRecord> records, boolean more) {
        return Json.object(json -> {
            json.writeBooleanField("more", more);
            json.writeArrayFieldStart("parked");
            for (var record : records) {
                json.writeStartObject();
                parked(json, record);
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    static void parked(JsonGenerator json, OutboxAdmin.ParkedRecord record) throws IOException {
        json.writeNumberField("id", record.id());
        json.writeStringField("eventId", record.eventId());
        json.writeStringField("topic", record.topic());
        json.writeStringField("parked", record.parked().toString());
        json.writeStringField("reason", record.reason());
    }

    static String blocked(List<OutboxAdmin.BlockedRecord> records, boolean more) {
        return Json.object(json -> {
            json.writeBooleanField("more", more);
            json.writeArrayFieldStart("blocked");
            for (var record : records) {
                json.writeStartObject();
                blocked(json, record);
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    static void blocked(JsonGenerator json, OutboxAdmin.BlockedRecord record) throws IOException {
        json.writeNumberField("shard", record.shard());
        json.writeNumberField("id", record.id());
        json.writeStringField("topic", record.topic());
        json.writeStringField("waits", record.waits().name().toLowerCase(Locale.ROOT));
        json.writeStringField("since", record.since().toString());
        json.writeStringField("reason", record.reason());
    }

    static String requeued(int count, List<Long> missing) {
        return Json.object(json -> {
            json.writeNumberField("requeued", count);
            json.writeArrayFieldStart("missing");
            for (var id : missing) {
                json.writeNumber(id);
            }
            json.writeEndArray();
        });
    }
}
