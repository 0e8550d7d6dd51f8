package dev.bellwether.internal.roster;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * One record of a roster's journal: text, so that a console consumer shows something readable. Immutable.
 *
 * @param group among whose members it counts: groups may share a journal
 * @param partitions how many its writer divides the roles by
 * @param number of the claim or the beat; in a release, whether its writer had led
 * @param base added to the offset of a claim to make its token; in a release, up to where its writer had read the log
 * @param lease how long it counts from when it is read
 * @param tokens the partitions that it is about, and the token of each; 0 in a claim, whose offset tells
 */
record RosterRecord(
        What what,
        String group,
        int partitions,
        String instance,
        String member,
        long number,
        long base,
        Duration lease,
        Map<Integer, Long> tokens) {

    private static final long LONGEST_LEASE_NANOS = TimeUnit.DAYS.toNanos(366);

    enum What {
        /** These partitions are mine: from here on I may lead, and anybody who claimed before me may not. */
        CLAIM,
        /** I lead these still. */
        BEAT,
        /** I lead these no more, and my work will have ended within the lease that is given here. */
        CONCEDE,
        /** My work has ended. */
        RELEASE
    }

    RosterRecord {
        tokens = new TreeMap<>(tokens);
    }

    byte[] bytes() {
        var list = new StringBuilder();
        tokens.forEach((partition, token) -> list.append(list.isEmpty() ? "" : ",")
                .append(partition)
                .append(':')
                .append(token));
        return ("what=" + what + "&group=" + encoded(group) + "&partitions=" + partitions + "&instance="
                        + encoded(instance) + "&member=" + encoded(member) + "&number=" + number + "&base=" + base
                        + "&lease="
                        + lease.toNanos() + "&tokens=" + list)
                .getBytes(StandardCharsets.UTF_8);
    }

    /** Returns what a record says; empty if it is none of ours: others may write to the log, too. */
    static Optional<RosterRecord> parse(byte[] bytes) {
        var fields = new TreeMap<String, String>();
        for (var pair : new String(bytes, StandardCharsets.UTF_8).split("&", -1)) {
            var equals = pair.indexOf('=');
            if (equals > 0) {
                fields.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
        }
        try {
            var tokens = new TreeMap<Integer, Long>();
            for (var each : fields.getOrDefault("tokens", "").split(",", -1)) {
                var colon = each.indexOf(':');
                tokens.put(Integer.parseInt(each.substring(0, colon)), Long.parseLong(each.substring(colon + 1)));
            }
            var lease = Long.parseLong(fields.getOrDefault("lease", ""));
            if (lease < 0 || lease > LONGEST_LEASE_NANOS) {
                return Optional.empty(); // no member of ours would write that, and it would bar all of them
            }
            return Optional.of(new RosterRecord(
                    What.valueOf(fields.getOrDefault("what", "")),
                    decoded(fields.getOrDefault("group", "")),
                    Integer.parseInt(fields.getOrDefault("partitions", "")),
                    decoded(fields.getOrDefault("instance", "")),
                    decoded(fields.getOrDefault("member", "")),
                    Long.parseLong(fields.getOrDefault("number", "")),
                    Long.parseLong(fields.getOrDefault("base", "")),
                    Duration.ofNanos(lease),
                    tokens));
        } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
            return Optional.empty();
        }
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }
}
