package dev.bellwether.kafka;

import dev.bellwether.kafka.Entry.What;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;

/**
 * A claim of ours: what it is called in the journal, and what was written and read of it. Confined to the thread of its
 * seat.
 */
final class OwnClaim {
    private final Standing standing;
    private final String nonce;
    private final long base;
    private final long chosen;
    private final TreeMap<Long, Moment> unread = new TreeMap<>();
    private long token;
    private long sinceMillis;
    private long beats;
    private long era;

    /**
     * Begins a claim; the number tells it from the others of the candidacy.
     *
     * @param base what is added to its offset
     * @param chosen the token to be granted with; 0 if the offset makes it
     */
    OwnClaim(Standing standing, int number, long base, long chosen) {
        this.standing = standing;
        this.base = base;
        this.chosen = chosen;
        token = chosen;
        nonce = standing.instance() + '-' + number + '-' + UUID.randomUUID(); // a copy of this process counts as we do
    }

    String nonce() {
        return nonce;
    }

    /** In which era of the election it stands: what is written of it from now on says so. */
    void inEra(long era) {
        this.era = era;
    }

    /** It was read, and it is the last one. */
    void stands(long token, Instant since) {
        this.token = token;
        sinceMillis = since.toEpochMilli();
    }

    /**
     * Returns when the commit was sent that went before this beat, and forgets that and all earlier ones; empty if it
     * did.
     */
    Optional<Moment> read(long beat) {
        var since = Optional.ofNullable(unread.get(beat));
        since.ifPresent(moment -> unread.headMap(beat, true).clear());
        return since;
    }

    /** Returns the first beat that was written and not yet read. */
    Optional<Moment> oldestUnread() {
        return unread.isEmpty()
                ? Optional.empty()
                : Optional.of(unread.firstEntry().getValue());
    }

    // ---------------------------------------------------------------- its records

    Entry claim() {
        return entry(What.CLAIM, standing.config().lease());
    }

    Entry beat(Moment since) {
        unread.put(++beats, since);
        return entry(What.BEAT, standing.config().lease());
    }

    Entry concession(Duration within) {
        return entry(What.CONCEDE, within);
    }

    Entry release() {
        return entry(What.RELEASE, standing.config().lease());
    }

    /** The release of a claim of ours that came through after we had given up on it. */
    static Entry release(Standing standing, Fields claim, long token) {
        return entry(What.RELEASE, standing, standing.config().lease(), claim.text("nonce"))
                .apply(made(token, claim.number("base"), claim.number("chosen")).and("era", claim.number("era")));
    }

    private Entry entry(What what, Duration lease) {
        return entry(what, standing, lease, nonce)
                .apply(made(token, base, chosen)
                        .and("beat", beats)
                        .and("since", sinceMillis)
                        .and("era", era));
    }

    private static Fields.Builder made(long token, long base, long chosen) {
        return Fields.with("token", token).and("base", base).and("chosen", chosen);
    }

    private static Function<Fields.Builder, Entry> entry(What what, Standing standing, Duration lease, String nonce) {
        return fields -> new Entry(
                what,
                standing.election(),
                fields.and("candidate", standing.candidate())
                        .and("instance", standing.instance())
                        .and("nonce", nonce)
                        .and("lease", lease.toNanos())
                        .andMetadata(standing.config().metadata())
                        .build());
    }
}
