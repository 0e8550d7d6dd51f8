package dev.bellwether.nats;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RecordStore.What;
import dev.bellwether.spi.RecordTraits;
import io.nats.client.impl.Headers;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * How elections lie in a bucket: keys, messages, and what follows for those who stand. This is ours;
 * {@link ChoriaLayout} is Choria's. Immutable.
 */
class Layout {
    static final String OPERATION = "KV-Operation";
    static final String MARKER = "Nats-Marker-Reason";
    private static final String DELETED = "DEL";

    final NatsConfig config;

    Layout(NatsConfig config) {
        this.config = config;
    }

    static Layout of(NatsConfig config) {
        return config.choria() ? new ChoriaLayout(config) : new Layout(config);
    }

    /** Returns the key of a record. */
    String key(RecordKey key) {
        return Keys.of(key.parts());
    }

    /** Returns the record of a key; empty if it is none of this layout. */
    Optional<RecordKey> recordKey(String key) {
        return Keys.parts(key).map(RecordKey::new);
    }

    /** Returns the pattern of all keys of seats. */
    String allSeats() {
        return "*";
    }

    /** Returns the pattern of all keys of sessions. */
    String allSessions() {
        return key(RecordKey.session("")) + '*';
    }

    /** Returns whether a candidate must be able to read. */
    boolean mustRead() {
        return true;
    }

    /** Returns what is stored in a message. */
    Found found(StoredMessage message) {
        return isMarker(message) ? of(message, What.DELETED, "") : of(message, What.TEXT, message.text());
    }

    /** Returns the headers of a message that says this. */
    Headers headers(Draft draft) {
        var headers = new Headers();
        if (draft.text().isEmpty()) {
            headers.put(OPERATION, DELETED);
        }
        return headers;
    }

    /** Returns the body of a message that says this. */
    byte[] body(Draft draft) {
        return draft.text().getBytes(StandardCharsets.UTF_8);
    }

    /** Returns what records are like in this bucket, whose records cannot be read for this reason, if any is given. */
    RecordTraits traits(Bucket bucket, String unreadable) {
        var ttl = bucket.ttl();
        var wanted = config.presence();
        // the server drops the keys of standbys, too
        return RecordTraits.PLAIN
                .vanishing(!ttl.isZero())
                .sharing(config.sharing())
                .listing(ttl.isZero() || ttl.compareTo(wanted) > 0 ? wanted : ttl);
    }

    /**
     * Refuses what the layout cannot hold.
     *
     * @param where names the bucket
     */
    void check(String where, Bucket bucket, String election, CandidacyConfig candidacy) {}

    static boolean isMarker(StoredMessage message) {
        return !message.header(MARKER).isEmpty() || !message.header(OPERATION).isEmpty();
    }

    static Found of(StoredMessage message, What what, String text) {
        return new Found(what, message.revision(), message.time(), text);
    }
}
