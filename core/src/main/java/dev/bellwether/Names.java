package dev.bellwether;

import org.jspecify.annotations.Nullable;

/** What every name must be, whatever the backend: short, printable, not blank. */
public final class Names {
    private static final int ELECTION_LIMIT = 200;
    private static final int CANDIDATE_LIMIT = 200;

    private Names() {}

    /**
     * Returns the name of an election as it is, or refuses it: at most 200 characters, none of them a control
     * character, a line break or half of a surrogate pair, not blank at either end. A backend may refuse more.
     */
    public static String election(String name) {
        return check("election name", name, ELECTION_LIMIT);
    }

    /** Returns the id of a candidate as it is, or refuses it by the same rules as the name of an election. */
    public static String candidate(String id) {
        return check("candidate id", id, CANDIDATE_LIMIT);
    }

    static String check(String what, @Nullable String name, int limit) {
        if (name == null) {
            throw new ElectionException(what + " is null: give it at least one visible character");
        }
        if (name.isBlank()) {
            throw new ElectionException(what + " is blank: give it at least one visible character");
        }
        var length = name.codePointCount(0, name.length());
        if (length > limit) {
            throw new ElectionException(what + " has " + length + " characters: it must have at most " + limit);
        }
        printable(what, name);
        if (!name.equals(name.strip())) {
            throw new ElectionException(what + " \"" + name + "\" begins or ends with white space: remove it");
        }
        return name;
    }

    /** Refuses characters that would break a line of a log, or that some backend cannot hold. */
    private static void printable(String what, String text) {
        for (var i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            var c = text.codePointAt(i);
            var type = Character.getType(c);
            if (Character.isISOControl(c)
                    || type == Character.SURROGATE
                    || type == Character.UNASSIGNED
                    || type == Character.LINE_SEPARATOR
                    || type == Character.PARAGRAPH_SEPARATOR) {
                throw new ElectionException(
                        "%s holds the character U+%04X at position %d, which is not printable".formatted(what, c, i));
            }
        }
    }

    /**
     * Returns a text that every backend can hold: without NUL, or half of a surrogate pair. Line breaks may be in it.
     */
    static String storable(String what, @Nullable String text) {
        if (text == null) {
            throw new ElectionException(what + " is null: leave the key out");
        }
        for (var i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
            var c = text.codePointAt(i);
            if (c == 0 || Character.getType(c) == Character.SURROGATE) {
                throw new ElectionException(
                        "%s holds the character U+%04X at position %d, which is not text".formatted(what, c, i));
            }
        }
        return text;
    }
}
