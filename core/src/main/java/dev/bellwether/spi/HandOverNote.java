package dev.bellwether.spi;

import java.time.DateTimeException;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The note over a seat that says which candidate is to get it next. Immutable.
 *
 * <p>It decides who claims when, never who may lead: every claim follows all rules, note or none.
 *
 * @param token of the mandate that is to end so
 * @param order names the order among all, so that an answer to one is never taken for an answer to another
 * @param within how long the candidate may take to get ready, from when it hears of it
 * @param to the candidate; empty for whichever is ready first, as long as none is
 */
public record HandOverNote(long token, String order, Stage stage, Duration within, String to) {
    /** How far a hand-over has come. */
    public enum Stage {
        /** The candidate is to get ready. */
        ASKED,
        /** The candidate is ready: the leader is to stand down, and all others to let the candidate go first. */
        READY
    }

    /** The longest that a candidate may be given: what is written there by others is not reckoned with. */
    public static final Duration LONGEST_WITHIN = Duration.ofDays(1);

    private static final Pattern FORMAT = Pattern.compile("(ASKED|READY) (\\d{1,19}) (\\S{1,60}) (\\S{1,40}) ?(.*)");

    /** Refuses an order without a name. */
    public HandOverNote {
        if (order.isEmpty() || order.indexOf(' ') >= 0) {
            throw new IllegalArgumentException("order is \"" + order + '"');
        }
    }

    /** Returns that this candidate is ready. */
    public HandOverNote readyBy(String candidate) {
        return new HandOverNote(token, order, Stage.READY, within, candidate);
    }

    /** Returns whether this candidate is asked to get ready. */
    public boolean asks(String candidate) {
        return stage == Stage.ASKED && (to.isEmpty() || to.equals(candidate));
    }

    /** Returns whether somebody is ready, so that the leader is to stand down. */
    public boolean isReady() {
        return stage == Stage.READY;
    }

    /** Returns the note as a seat keeps it: one line. */
    public String text() {
        return stage + " " + token + ' ' + order + ' ' + within + ' ' + to;
    }

    /** Reads a note; one that cannot be read is none. */
    public static Optional<HandOverNote> parse(String text) {
        var parts = FORMAT.matcher(text);
        if (!parts.matches()) {
            return Optional.empty();
        }
        try {
            return Optional.of(new HandOverNote(
                            Long.parseLong(parts.group(2)),
                            parts.group(3),
                            Stage.valueOf(parts.group(1)),
                            Duration.parse(parts.group(4)),
                            parts.group(5)))
                    .filter(note -> !note.within.isNegative() && note.within.compareTo(LONGEST_WITHIN) <= 0);
        } catch (DateTimeException | NumberFormatException e) {
            return Optional.empty();
        }
    }
}
