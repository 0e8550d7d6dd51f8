package dev.bellwether.spi;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

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

    /**
     * Returns the name of the folder in which keys of so many parts stand, with a slash behind it, where a store has
     * nothing better.
     */
    public static String folder(int parts) {
        return parts == OF_SEAT ? "seats/" : parts == OF_STANDBY ? "standbys/" : "others/";
    }

    /**
     * Returns the key as a path, such as {@code seats/billing}: its folder and its parts, each escaped as in a form of
     * HTML, so that no part reaches into another.
     */
    public String path() {
        return folder(parts.size()) + escaped(parts);
    }

    /** Returns what the path of all keys begins with that have this many parts and begin with these. */
    public static String pathOf(List<String> beginning, int parts) {
        return folder(parts) + escaped(beginning) + (beginning.isEmpty() ? "" : "/");
    }

    /** Returns the key with this many parts that has this path; empty if none has. */
    public static Optional<RecordKey> ofPath(String path, int parts) {
        try {
            var found = Arrays.stream(path.substring(folder(parts).length()).split("/", -1))
                    .map(part -> URLDecoder.decode(part, StandardCharsets.UTF_8))
                    .toList();
            return found.size() == parts ? Optional.of(new RecordKey(found)) : Optional.empty();
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
            return Optional.empty(); // others write to the store, too
        }
    }

    private static String escaped(List<String> parts) {
        return parts.stream()
                .map(part -> URLEncoder.encode(part, StandardCharsets.UTF_8))
                .collect(Collectors.joining("/"));
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
