package dev.bellwether.outbox;

import java.time.Instant;
import java.util.Optional;

/**
 * Which published records are to be published again, of those that a {@linkplain OutboxForm#ROTATED rotated} table
 * still has. Immutable.
 *
 * @see OutboxAdmin#replay
 */
public final class Replay {
    private final long fromId;
    private final Optional<Instant> since;
    private final Optional<String> topic;
    private final long toId;
    private final Optional<Instant> until;

    private Replay(long fromId, Optional<Instant> since, Optional<String> topic, long toId, Optional<Instant> until) {
        this.fromId = fromId;
        this.since = since;
        this.topic = topic;
        this.toId = toId;
        this.until = until;
    }

    /** Those whose rows have this id or a greater one. */
    public static Replay fromId(long id) {
        return new Replay(id, Optional.empty(), Optional.empty(), Long.MAX_VALUE, Optional.empty());
    }

    /** The first that was stashed then or later, and those whose rows have a greater id, by the database's clock. */
    public static Replay since(Instant time) {
        return new Replay(Long.MIN_VALUE, Optional.of(time), Optional.empty(), Long.MAX_VALUE, Optional.empty());
    }

    /** Of these, those of one topic. */
    public Replay ofTopic(String name) {
        return new Replay(fromId, since, Optional.of(name), toId, until);
    }

    /** Of these, those whose rows have this id or a smaller one: into another topic only. */
    public Replay toId(long id) {
        return new Replay(fromId, since, topic, id, until);
    }

    /** Of these, those that were stashed before then: into another topic only. */
    public Replay until(Instant time) {
        return new Replay(fromId, since, topic, toId, Optional.of(time));
    }

    long fromId() {
        return fromId;
    }

    Optional<Instant> since() {
        return since;
    }

    Optional<String> topic() {
        return topic;
    }

    long toId() {
        return toId;
    }

    Optional<Instant> until() {
        return until;
    }

    /** Whether all that came later is among them, too. */
    boolean isOpen() {
        return toId == Long.MAX_VALUE && until.isEmpty();
    }

    @Override
    public String toString() {
        return "Replay[fromId=" + fromId + ", since="
                + since.map(Instant::toString).orElse("") + ", topic=" + topic.orElse("") + ", toId=" + toId
                + ", until=" + until.map(Instant::toString).orElse("") + ']';
    }
}
