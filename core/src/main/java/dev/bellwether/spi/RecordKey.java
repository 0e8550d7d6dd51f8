package dev.bellwether.spi;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.List;

/**
 * The key of a record in a {@link RecordStore}: parts that the store escapes and joins as its keys demand, so that two
 * keys never become one. Immutable. The number of parts says what the record is.
 */
public record RecordKey(List<String> parts) {
    /** How many parts the key of a seat has. */
    public static final int OF_SEAT = 1;
    /** How many parts the key of a session has. */
    public static final int OF_SESSION = 2;
    /** How many parts the key of a standby has. */
    public static final int OF_STANDBY = 3;

    /** Copies the parts. */
    public RecordKey {
        parts = List.copyOf(parts);
    }

    /** Returns the key of the seat of an election. */
    public static RecordKey seat(String election) {
        return new RecordKey(List.of(election));
    }

    /** Returns the key of a session, the record that keeps many leases of a process. */
    public static RecordKey session(String id) {
        return new RecordKey(List.of("session", id));
    }

    /**
     * Returns the key under which a candidate is listed. Its priority is part of it, so that a list of keys tells the
     * highest.
     */
    public static RecordKey standby(String election, int priority, String candidate) {
        try {
            var digest = MessageDigest.getInstance("SHA-256").digest(candidate.getBytes(StandardCharsets.UTF_8));
            var name = Base64.getUrlEncoder().withoutPadding().encodeToString(digest);
            return new RecordKey(List.of(election, Integer.toString(priority), name.substring(0, 22)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    /** Returns whether it is the key of a session. */
    public boolean isSession() {
        return parts.size() == OF_SESSION;
    }

    /** Returns the election that the record belongs to. */
    public String election() {
        return parts.get(0);
    }

    /** Returns the priority in the key of a standby; the lowest there is in any other key. */
    public int priority() {
        try {
            return parts.size() == OF_STANDBY ? Integer.parseInt(parts.get(1)) : Integer.MIN_VALUE;
        } catch (NumberFormatException e) {
            return Integer.MIN_VALUE; // others write to the store, too
        }
    }
}
