package dev.bellwether.kafka;

import dev.bellwether.Candidate;
import dev.bellwether.kafka.Page.Taken;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The rules of the journal: what its records, read in order, make of one election.
 *
 * <p>Confined to the thread of the journal, but for {@link #page}.
 */
final class Ledger {
    /*
     * The order of the log decides, not the group and no clock:
     *
     * 1. A claim ends all earlier ones. A beat counts only if no other claim lies between it and its own: so whoever reads back his
     *    beat, and no foreign claim before it, knows that all who claim later will have read that beat.
     * 2. Whoever claims waits until every earlier claimant has said that his work has ended, or until the lease of his last beat has
     *    passed, counted from when the beat was read here. It was written before that, and sent before that: his own count
     *    ends first.
     * 3. A claim whose token would not rise is void. That can be after the log has begun anew (the topic was deleted and
     *    created again), and its claimant adds more.
     */
    private final String election;
    private long highest;
    private long base;
    private @Nullable Taken seat;
    private final List<Taken> earlier = new ArrayList<>();
    private long standDownToken;
    private boolean ended;
    private boolean listed;
    private long era;
    private List<Candidate> candidates = List.of();
    private boolean stood;

    /** For any thread. */
    private volatile Page page;

    Ledger(String election, long nanos) {
        this.election = election;
        page = Page.blank(election, nanos);
    }

    Page page() {
        return page;
    }

    void read(Entry entry, long offset, Instant at, long nowNanos) {
        earlier.removeIf(taken -> !taken.standsAt(nowNanos));
        var fields = entry.fields();
        var token = fields.number("token");
        switch (entry.what()) {
            case CLAIM -> claimed(fields, fields.number("base") + offset + 1, at, nowNanos);
            case BEAT -> {
                if (seat == null || token > highest) {
                    begunBefore(fields, token, nowNanos);
                } else if (seat.token() == token && seat.nonce().equals(fields.text("nonce"))) {
                    seat = seat.until(nowNanos + lease(fields).toNanos());
                }
            }
            case CONCEDE -> {
                var end = nowNanos + lease(fields).toNanos();
                if (seat != null && seat.token() == token && end - seat.untilNanos() < 0) {
                    seat = seat.until(end);
                }
                earlier.replaceAll(
                        taken -> taken.token() == token && end - taken.untilNanos() < 0 ? taken.until(end) : taken);
            }
            case RELEASE -> {
                if (token > highest) {
                    begunBefore(fields, token, nowNanos);
                }
                if (seat != null && seat.token() == token) {
                    seat = seat.releasedNow();
                }
                earlier.removeIf(taken -> taken.token() == token);
            }
            case CANDIDATES -> candidates = Roll.parse(fields);
            case STAND_DOWN -> standDownToken = token;
            case END -> {
                ended = true;
                era = Math.max(era, fields.number("era"));
            }
            case DELETE -> {
                ended = false;
                listed = false;
                era = Math.max(era, fields.number("era"));
            }
        }
        stood = seat != null && seat.standsAt(nowNanos);
        publish(nowNanos);
    }

    /** Returns whether the lease of the last claimant has run out, but once only for each time that it does. */
    boolean expiredSinceAsked(long nowNanos) {
        var expired = stood && seat != null && !seat.standsAt(nowNanos);
        stood = stood && !expired;
        return expired;
    }

    /** The log began anew: its claims are gone, but not what we know. Whoever led under one may lead until its lease is over. */
    void beginAnew(long nowNanos) {
        if (seat != null && seat.standsAt(nowNanos)) {
            earlier.add(seat);
        }
        seat = null;
        stood = false;
        candidates = List.of();
        publish(nowNanos);
    }

    private void claimed(Fields fields, long token, Instant at, long nowNanos) {
        if (token <= highest) {
            return;
        }
        if (seat != null && seat.standsAt(nowNanos)) {
            earlier.add(seat);
        }
        highest = token;
        base = fields.number("base");
        seat = taken(fields, token, at, nowNanos);
        listed = true;
    }

    /** Its claim is no longer in the log. */
    private void begunBefore(Fields fields, long token, long nowNanos) {
        claimed(fields, token, Instant.ofEpochMilli(fields.number("since")), nowNanos);
    }

    private static Taken taken(Fields fields, long token, Instant since, long nowNanos) {
        var lease = lease(fields);
        return new Taken(
                token,
                fields.text("nonce"),
                fields.text("instance"),
                fields.text("candidate"),
                since,
                lease,
                fields.metadata(),
                false,
                nowNanos + lease.toNanos());
    }

    private static Duration lease(Fields fields) {
        return Duration.ofNanos(fields.number("lease"));
    }

    private void publish(long nowNanos) {
        page = new Page(
                election,
                highest,
                base,
                seat,
                List.copyOf(earlier),
                standDownToken,
                ended,
                listed,
                era,
                candidates,
                nowNanos);
    }
}
