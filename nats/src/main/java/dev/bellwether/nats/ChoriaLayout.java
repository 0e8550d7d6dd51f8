package dev.bellwether.nats;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore.Draft;
import dev.bellwether.spi.RecordStore.Found;
import dev.bellwether.spi.RecordStore.What;
import dev.bellwether.spi.RecordTraits;
import io.nats.client.impl.Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;

/**
 * How Choria's elections lie in a bucket: a key is the election's name, a message the leader's name and nothing else.
 * Our record goes along as a header, which Choria does not look at. Immutable.
 */
final class ChoriaLayout extends Layout {
    private static final String RECORD = "Bellwether";
    private static final String MARKER_OF_AGE = "MaxAge";

    ChoriaLayout(NatsConfig config) {
        super(config);
    }

    @Override
    String key(RecordKey key) {
        return key.election();
    }

    @Override
    Optional<RecordKey> recordKey(String key) {
        return Optional.of(RecordKey.seat(key));
    }

    @Override
    String allSeats() {
        return ">";
    }

    @Override
    boolean mustRead() {
        return false;
    }

    @Override
    Found found(StoredMessage message) {
        var record = message.header(RECORD);
        if (message.header(MARKER).equals(MARKER_OF_AGE)) {
            return of(message, What.EXPIRED, "");
        }
        if (!message.header(MARKER).isEmpty() || (isMarker(message) && record.isEmpty())) {
            return of(message, What.DELETED, "");
        }
        return record.isEmpty() ? of(message, What.NAME, message.text()) : of(message, What.TEXT, record);
    }

    @Override
    Headers headers(Draft draft) {
        var headers = super.headers(draft.leader().isEmpty() ? new Draft("", "") : draft);
        if (!draft.text().isEmpty()) {
            headers.put(RECORD, draft.text());
        }
        return headers;
    }

    @Override
    byte[] body(Draft draft) {
        return draft.leader().getBytes(StandardCharsets.UTF_8);
    }

    /**
     * A winner waits there, so that nobody else needs to; and the server drops what is not renewed before anybody else
     * may lead.
     */
    @Override
    RecordTraits traits(Bucket bucket, String unreadable) {
        var ttl = bucket.ttl();
        return new RecordTraits(
                false,
                unreadable,
                "Choria's elections neither end nor are they forgotten",
                grace(ttl),
                ttl.dividedBy(4),
                ttl,
                Duration.ZERO,
                0);
    }

    /** Returns how long Choria's rules make a winner wait until it leads. */
    static Duration grace(Duration ttl) {
        return ttl.multipliedBy(3).dividedBy(4).plusMillis(200);
    }

    @Override
    void check(String where, Bucket bucket, String election, CandidacyConfig candidacy) {
        if (!Keys.isKey(election)) {
            throw new ElectionException("election name \"" + election
                    + "\" is no key of a bucket: Choria's elections have names of letters, digits and - / _ = .");
        }
        var ttl = bucket.ttl();
        var lease = candidacy.lease();
        if (lease.compareTo(ttl.multipliedBy(3).dividedBy(4)) > 0) {
            throw new ElectionException("lease " + Durations.show(lease) + " is longer than three quarters of the TTL "
                    + Durations.show(ttl) + " of " + where
                    + ": a leader of Choria's would lead before it is over, if ours was evicted and did not"
                    + " hear of it");
        }
    }
}
