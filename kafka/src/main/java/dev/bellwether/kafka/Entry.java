package dev.bellwether.kafka;

import dev.bellwether.spi.Fields;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One record of the journal. Immutable. */
record Entry(What what, String election, Fields fields) {

    /**
     * What a record says. Those of one family share a key, so that compaction keeps the last of them: each of them must
     * say by itself what somebody who comes late has to know.
     */
    enum What {
        /** The partition is mine: from here on I may lead, and anybody who claimed before me may not. */
        CLAIM("seat"),
        /** I lead still. */
        BEAT("seat"),
        /** I lead no more, and my work will have ended in so many milliseconds. */
        CONCEDE("seat"),
        /** My work has ended. */
        RELEASE("seat"),
        /** Who stands, as the owner of the partition learnt it from the group. */
        CANDIDATES("candidates"),
        /** An operator orders the leader of that token to stand down. */
        STAND_DOWN("order"),
        /** An operator ends the election. */
        END("state"),
        /** An operator deletes the election. */
        DELETE("state");

        private final String family;

        What(String family) {
            this.family = family;
        }
    }

    private static final String WHAT = "what";

    /**
     * Who lost the seat may tell of its claim when others have led since, and compaction keeps what is told last. By
     * that, and by its offset, one that comes late must know all tokens before. So what is added to the offset is part
     * of the key, and so is a token that was chosen.
     */
    byte[] key() {
        var added = fields.number("base");
        var chosen = fields.number("chosen");
        var of = isOfSeat() && (added > 0 || chosen > 0) ? "." + added + '.' + chosen : "";
        return (what.family + of + ':' + election).getBytes(StandardCharsets.UTF_8);
    }

    /** Returns whether a claimant tells of its claim. */
    boolean isOfSeat() {
        return what.family.equals(What.CLAIM.family);
    }

    byte[] value() {
        var said = new Fields.Builder();
        fields.values().forEach(said::and);
        return said.and(WHAT, what).build().bytes();
    }

    /** Returns what a record says; empty if it is none of ours. */
    static Optional<Entry> parse(byte @Nullable [] key, byte @Nullable [] value) {
        if (key == null || value == null) {
            return Optional.empty();
        }
        var name = new String(key, StandardCharsets.UTF_8);
        var end = name.indexOf(':');
        var fields = Fields.parse(value);
        for (var what : What.values()) {
            if (what.name().equals(fields.text(WHAT)) && end > 0 && name.startsWith(what.family)) {
                return Optional.of(new Entry(what, name.substring(end + 1), fields));
            }
        }
        return Optional.empty();
    }
}
