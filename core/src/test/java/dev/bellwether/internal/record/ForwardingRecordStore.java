package dev.bellwether.internal.record;

import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** The same records, of whose changes nobody is told. */
public class ForwardingRecordStore implements RecordStore {
    private final RecordStore records;

    protected ForwardingRecordStore(RecordStore records) {
        this.records = records;
    }

    @Override
    public String describe() {
        return records.describe();
    }

    @Override
    public String scope() {
        return records.scope();
    }

    @Override
    public RecordTraits traits() {
        return records.traits();
    }

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        return records.read(key, urgency, timeout);
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        return records.write(key, expected, draft, urgency, timeout);
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        return records.list(beginning, parts, timeout);
    }

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        return records.put(key, text, kept, timeout);
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        return records.remove(key, timeout);
    }

    @Override
    public void close() {}
}
