package dev.bellwether.cli.outbox;

import dev.bellwether.cli.command.Json;
import dev.bellwether.outbox.OutboxAdmin;
import java.util.List;
import java.util.Locale;

/** What is known of an outbox, as JSON. */
final class OutboxJson {
    private OutboxJson() {}

    static String state(OutboxAdmin.State state) {
        return Json.object(json -> {
            json.writeNumberField("backlog", state.backlog());
            json.writeBooleanField("exact", state.exact());
            json.writeNumberField("oldestMillis", state.oldest().toMillis());
            json.writeNumberField("parked", state.parked());
            json.writeArrayFieldStart("shards");
            for (var shard : state.shards()) {
                json.writeStartObject();
                json.writeNumberField("shard", shard.shard());
                json.writeStringField("leader", shard.relay());
                json.writeNumberField("epoch", shard.epoch());
                json.writeStringField("since", shard.since().toString());
                json.writeStringField("seen", shard.seen().toString());
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

    static String parked(List<OutboxAdmin.ParkedRecord> records) {
        return Json.object(json -> {
            json.writeArrayFieldStart("parked");
            for (var record : records) {
                json.writeStartObject();
                json.writeNumberField("id", record.id());
                json.writeStringField("eventId", record.eventId().toString());
                json.writeStringField("topic", record.topic());
                json.writeStringField("parked", record.parked().toString());
                json.writeStringField("reason", record.reason());
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }
}
