package dev.bellwether.kubernetes;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import dev.bellwether.ElectionException;
import dev.bellwether.http.Json;
import dev.bellwether.spi.RecordKey;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A Lease as it was seen. Immutable.
 *
 * @param isTracked whether the server lists who set which field, which makes the Lease nearly twice as long
 */
record StoredLease(
        String name,
        long revision,
        String uid,
        Map<String, String> labels,
        Map<String, String> annotations,
        Spec spec,
        boolean isTracked) {
    /*
     * The record is the annotation "record". The fields of the specification are made of it, for people and for those
     * who look with client-go; nothing here is decided by them, but one thing: whether somebody else has written them.
     * All other electors keep annotations when they take a Lease over, so the annotation "spec" repeats holder and
     * transitions. Where it differs, the record is not what counts for them.
     *
     * A server does not write an update that changes nothing, and answers as if it had, at the same version. A write
     * that is to keep a late one away would then keep away nothing. So each names the version that it replaces: one
     * that stands over it names another.
     *
     * Beside others the specification decides for them, and so is written as they want it: renewTime is by our clock,
     * as theirs is, and rises by a second at least, since they compare it by the second; the lease is rounded up; and a
     * seat that is free has no holder, but all other fields, without which some of them fail.
     */
    static final String MANAGED = "app.kubernetes.io/managed-by";
    static final String OURS = "bellwether";
    static final String KIND = "bellwether.dev/kind";
    static final String ELECTION = "bellwether.dev/election";
    private static final String RECORD = "bellwether.dev/record";
    private static final String KEY = "bellwether.dev/key";
    private static final String SPEC = "bellwether.dev/spec";
    private static final String REPLACED = "bellwether.dev/replaced";

    private static final String RESERVED = "bellwether--";
    private static final String DNS = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
    private static final int LONGEST_NAME = 253;
    private static final int READABLE = 40;
    private static final int MOST_DIGITS = 19;
    private static final DateTimeFormatter SIX_DIGITS = DateTimeFormatter.ofPattern(
                    "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    /**
     * What the Lease says to those who know nothing of us.
     *
     * @param holder empty for nobody
     * @param seconds how long they leave the holder alone; 0 if it does not say
     * @param strategy of an election that the API server itself decides; empty for none
     */
    record Spec(String holder, Instant acquired, Instant renewed, long seconds, long transitions, String strategy) {
        /**
         * Returns what the annotation repeats.
         *
         * @param timed whether with the time of the last renewal: beside others, who change that each time
         */
        private String repeated(boolean timed) {
            return transitions + " " + holder + (timed ? " " + time(renewed) : "");
        }

        static String time(Instant time) {
            return SIX_DIGITS.format(time);
        }
    }

    // ---------------------------------------------------------------- names

    /**
     * Returns the name of the Lease of a record. That of a seat is the name of its election, if that can be one; all
     * others bear a digest.
     */
    static String name(RecordKey key) {
        var election = key.election();
        if (key.parts().size() == RecordKey.OF_SEAT
                && election.length() <= LONGEST_NAME
                && election.matches(DNS)
                && !election.startsWith(RESERVED)) {
            return election;
        }
        var readable = election.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
        return RESERVED + kind(key.parts().size()) + "-"
                + readable.substring(0, Math.min(READABLE, readable.length())).replaceAll("^-", "") + "-"
                + digest(key.path());
    }

    /** Returns the label of the kind of record whose key has so many parts. */
    static String kind(int parts) {
        return parts == RecordKey.OF_SEAT ? "seat" : parts == RecordKey.OF_SESSION ? "session" : "standby";
    }

    /** Returns a label for this text, whatever characters are in it. */
    static String digest(String text) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)))
                    .substring(0, 32);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    // ---------------------------------------------------------------- reading

    /**
     * Reads a Lease.
     *
     * @throws ElectionException if its version is no number that can be a token
     */
    static StoredLease of(Json lease) {
        var metadata = lease.at("metadata");
        var spec = lease.at("spec");
        return new StoredLease(
                metadata.text("name"),
                revision(metadata.text("resourceVersion")),
                metadata.text("uid"),
                texts(metadata.at("labels")),
                texts(metadata.at("annotations")),
                new Spec(
                        spec.text("holderIdentity"),
                        time(spec.text("acquireTime")),
                        time(spec.text("renewTime")),
                        spec.number("leaseDurationSeconds"),
                        spec.number("leaseTransitions"),
                        spec.text("strategy") + spec.text("preferredHolder")),
                !metadata.list("managedFields").isEmpty());
    }

    /**
     * Reads a version.
     *
     * @throws ElectionException if it is no number that can be a token
     */
    static long revision(String version) {
        if (version.matches("[0-9]{1," + MOST_DIGITS + "}") && new BigInteger(version).bitLength() < Long.SIZE) {
            return Long.parseLong(version);
        }
        throw new ElectionException("the API server gives the resourceVersion \"" + version + "\", which is no"
                + " number below 2^63: tokens cannot be made of it. Use a server whose store is etcd");
    }

    private static Map<String, String> texts(Json map) {
        return map.value() instanceof Map<?, ?> all
                ? all.entrySet().stream()
                        .collect(Collectors.toMap(
                                one -> String.valueOf(one.getKey()), one -> String.valueOf(one.getValue())))
                : Map.of();
    }

    private static Instant time(String text) {
        try {
            return text.isEmpty() ? Instant.EPOCH : Instant.parse(text);
        } catch (DateTimeParseException e) {
            return Instant.EPOCH; // it is for display only
        }
    }

    /** Returns the path of the key of the record in it; empty if there is none. */
    Optional<String> path() {
        return Optional.ofNullable(annotations.get(KEY));
    }

    /**
     * Returns the record; empty if others wrote the Lease last, beside which ours may stand.
     *
     * @throws ElectionException if it is not for this key, or others hold elections with this Lease
     */
    Optional<String> text(RecordKey key, boolean beside) {
        var lease = "Lease " + name + " (held by \"" + spec.holder + "\")";
        var text = annotations.get(RECORD);
        if (!spec.strategy.isEmpty()) {
            throw new ElectionException(lease + " has a strategy: there the API server itself elects, and ignores"
                    + " what we write. Give the election another name");
        }
        if (text == null || !spec.repeated(beside).equals(annotations.get(SPEC))) {
            if (beside && (spec.holder.isEmpty() || spec.seconds > 0)) {
                return Optional.empty();
            }
            if (beside) {
                throw new ElectionException(lease + " has a holder and no leaseDurationSeconds: its writer never renews"
                        + " it, so nobody can know when that leader has gone. Give the election another name");
            }
            throw new ElectionException(lease + (text == null ? " was made" : " was written over") + " by others"
                    + " than Bellwether, such as client-go: they elect by other rules, and two could lead. Say so in"
                    + " the URI (?beside=client-go), for all candidates; or give the election another name; or stop"
                    + " them, wait until their lease is over, and delete the Lease");
        }
        if (!key.path().equals(annotations.get(KEY))) {
            throw new ElectionException(lease + " is for " + annotations.get(KEY) + ", not for " + key.path()
                    + ": somebody has copied it. Delete it while nobody stands for either");
        }
        return Optional.of(text);
    }

    // ---------------------------------------------------------------- writing

    /**
     * What a Lease is to say.
     *
     * @param holder empty for nobody
     * @param seconds how long others keep off who know nothing of us
     * @param isRenewed whether its holder, or nobody, wrote it; not an operator
     * @param beside whether others elect by this Lease, too
     */
    record Next(String text, String holder, long seconds, boolean isRenewed, boolean beside) {}

    /** Returns the Lease that is not there yet, as JSON. */
    static String first(RecordKey key, Next next, Instant now) {
        var none = new Spec("", now, Instant.EPOCH, 0, 0, "");
        return new StoredLease(name(key), 0, "", Map.of(), Map.of(), none, false).json(key, next, now, 0);
    }

    /** Returns the Lease that is to stand in the place of this one, as JSON: what others added to it stays. */
    String json(RecordKey key, Next next, Instant now) {
        var isClaim = !next.holder.isEmpty() && !next.holder.equals(spec.holder);
        return json(key, next, now, spec.transitions + (isClaim ? 1 : 0));
    }

    private String json(RecordKey key, Next next, Instant now, long transitions) {
        var same = next.holder.isEmpty() || next.holder.equals(spec.holder);
        var said = new Spec(next.holder, same ? spec.acquired : now, renewed(next, now), next.seconds, transitions, "");
        var allLabels = new TreeMap<>(labels);
        allLabels.put(MANAGED, OURS);
        allLabels.put(KIND, kind(key.parts().size()));
        if (!key.isSession()) {
            allLabels.put(ELECTION, digest(key.election()));
        }
        var allAnnotations = new TreeMap<>(annotations);
        allAnnotations.put(KEY, key.path());
        allAnnotations.put(RECORD, next.text);
        allAnnotations.put(SPEC, said.repeated(next.beside));
        allAnnotations.put(REPLACED, Long.toString(revision));
        return "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":" + quoted(name)
                + (uid.isEmpty() ? "" : ",\"uid\":" + quoted(uid) + ",\"resourceVersion\":\"" + revision + "\"")
                + (isTracked ? ",\"managedFields\":[{}]" : "")
                + ",\"labels\":" + quoted(allLabels) + ",\"annotations\":" + quoted(allAnnotations) + "},\"spec\":{"
                + (next.holder.isEmpty() ? "" : "\"holderIdentity\":" + quoted(next.holder) + ",")
                + "\"acquireTime\":\"" + Spec.time(said.acquired) + "\",\"renewTime\":\"" + Spec.time(said.renewed)
                + "\",\"leaseDurationSeconds\":" + Math.max(1, Math.min(Integer.MAX_VALUE, next.seconds))
                + ",\"leaseTransitions\":" + transitions + "}}";
    }

    private Instant renewed(Next next, Instant now) {
        var rising = spec.renewed.plusSeconds(1);
        return !next.isRenewed ? spec.renewed : next.beside && rising.isAfter(now) ? rising : now;
    }

    private static String quoted(Map<String, String> texts) {
        return texts.entrySet().stream()
                .map(one -> quoted(one.getKey()) + ":" + quoted(one.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private static String quoted(String text) {
        return '"' + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + '"';
    }
}
