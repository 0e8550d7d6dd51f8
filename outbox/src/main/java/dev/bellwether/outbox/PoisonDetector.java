package dev.bellwether.outbox;

import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.kafka.common.errors.TopicAuthorizationException;

/**
 * Finds out which records can never be published, from what failed, and remembers them for the time of a mandate.
 * {@link #holds} and {@link #parked} are for any thread, everything else belongs to that of the shard.
 */
final class PoisonDetector {
    /*
     * The first record that is told to have failed may be an innocent one, of the same request as the culprit. So the
     * suspect is sent alone. If it fails again, it is condemned. If it passes, the culprit is among those behind it in
     * that transaction, and is searched by halves: each that passes leaves the other half.
     */
    private static final int UNLIMITED = Integer.MAX_VALUE;
    private static final long NOBODY = Long.MIN_VALUE;
    private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final Topics topics;
    /** Records that brokers have refused and that are still in the table; what rules condemn, they condemn again. */
    private final Map<Long, String> condemned = new ConcurrentHashMap<>();
    /**
     * Of topics that have refused a record. Where there is one there may be a thousand, and each would cost a session.
     */
    private final Map<String, Known> rules = new HashMap<>();

    private final Map<String, BadTopic> badTopics = new HashMap<>();
    private final Set<Object> blocked = ConcurrentHashMap.newKeySet();
    private final Set<String> blockedTopics = ConcurrentHashMap.newKeySet();
    /** Topics that records were sent to, or were found missing. */
    private final Set<String> met = new HashSet<>();

    private final Set<String> told = new HashSet<>();
    /** Partitions that have no leader: what goes there waits, and nothing else. */
    private final Map<String, Stranded> stranded = new ConcurrentHashMap<>();
    /** For how long a forbidden topic was left alone last: to find out costs a session. */
    private final Map<String, Long> pauses = new HashMap<>();

    private final long retryNanos;
    private final LongSupplier nanoTime;
    private long slice;
    private long suspect = NOBODY;
    private int suspicious;
    private int limit = UNLIMITED;

    /** Tells what is wrong with a topic. */
    interface Topics {
        /**
         * Returns why no record can be written to this partition, or to any if it is negative; empty if one can, or if
         * nobody knows.
         */
        Optional<String> fault(String topic, int partition);

        /**
         * Returns those that certainly do not exist and that no broker makes when it is asked for them, and what is
         * wrong.
         */
        default Map<String, String> missing(Set<String> asked) {
            return Map.of();
        }

        /** Returns those of these topics that certainly exist. */
        default Set<String> present(Set<String> asked) {
            return Set.of();
        }

        /**
         * Returns which partitions of these topics have no leader; empty if all have one, or if only a send tells. A
         * topic of which nobody knows anything now is not among them.
         */
        default Map<String, Optional<Stranded>> stranded(Set<String> asked) {
            return Map.of();
        }

        /** Returns what the topic takes; empty if nobody tells. */
        default Optional<TopicRules> rules(String topic) {
            return Optional.empty();
        }

        /** Returns how large the producer lets a record be. */
        default long maxRequestBytes() {
            return Long.MAX_VALUE;
        }

        /** Returns how the producer compresses. */
        default TopicRules.Codec compression() {
            return TopicRules.Codec.NONE;
        }

        /** Returns the header that is the relay's own. */
        default String eventIdHeader() {
            return HeaderLines.EVENT_ID;
        }
    }

    /**
     * The rules of a topic, if they could be had, and in which slice they were asked for. Rules that are older than the
     * slice condemn nobody: they may have been fixed before the row was written, and it was written because they were.
     */
    private record Known(Optional<TopicRules> rules, long slice) {}

    /** A topic that takes no record now. It is asked about again, since it may be made, or a right be given. */
    private record BadTopic(String reason, boolean forbidden, long retryAt) {}

    /**
     * Begins without verdicts.
     *
     * @param retryNanos how long a verdict on a whole topic holds
     */
    PoisonDetector(Topics topics, long retryNanos, LongSupplier nanoTime) {
        this.topics = topics;
        this.retryNanos = retryNanos;
        this.nanoTime = nanoTime;
    }

    /** Returns whether the row must wait for one before it. */
    boolean holds(Row row) {
        return isStranded(row)
                || (holdsAny() && (blockedTopics.contains(row.topic()) || blocked.contains(row.orderKey())));
    }

    private boolean isStranded(Row row) {
        if (stranded.isEmpty()) {
            return false;
        }
        var known = stranded.get(row.topic());
        return known != null && known.holds(row);
    }

    boolean holdsAny() {
        return !blocked.isEmpty() || !blockedTopics.isEmpty();
    }

    /** Returns whether rows of this topic wait for a partition that has no leader. */
    boolean isStranded(String topic) {
        return stranded.containsKey(topic);
    }

    /** Returns whether rows wait for a partition that has no leader. */
    boolean isAnyStranded() {
        return !stranded.isEmpty();
    }

    /**
     * Asks which partitions have no leader now; returns whether one has got one, so that what waits for it is to be
     * read again.
     */
    boolean leadersAreBack() {
        var before = Map.copyOf(stranded);
        topics.stranded(before.keySet()).forEach(this::strand);
        return !stranded.equals(before);
    }

    /** Asks whether one of the topics is there now that were missing, and for which rows wait. */
    boolean topicsAreBack() {
        var waited = new HashSet<String>();
        for (var topic : blockedTopics) {
            var bad = badTopics.get(topic);
            if (bad != null && !bad.forbidden()) {
                waited.add(topic);
            }
        }
        return !waited.isEmpty() && !topics.present(waited).isEmpty();
    }

    /**
     * Lets those behind this row wait: of its key, or of its whole topic if that is at fault. Returns whether it is the
     * topic.
     */
    boolean block(Row row) {
        if (badTopics.containsKey(row.topic())) {
            return blockedTopics.add(row.topic());
        }
        blocked.add(row.orderKey());
        return false;
    }

    /**
     * Forgets all verdicts and suspicions, so that everything is tried again; whether a topic is there now is asked,
     * since a send that fails costs more.
     */
    void pardon() {
        suspicious = 0;
        endSuspicion();
        condemned.clear();
        rules.clear();
        badTopics.values().removeIf(BadTopic::forbidden);
        badTopics.replaceAll((topic, bad) -> new BadTopic(bad.reason(), false, nanoTime.getAsLong()));
        blocked.clear();
        blockedTopics.clear();
    }

    /** This record is gone from the table, and the verdict on it is of no use any more. From any thread. */
    void parked(long id) {
        condemned.remove(id);
    }

    /** Returns why the row can never be published. */
    Optional<String> condemns(Row row) {
        if (row.deferred()) { // for being so large that it was not read
            return Optional.of("RecordTooLarge: its " + row.size() + " bytes are more than the producer's"
                    + " max.request.size, " + topics.maxRequestBytes());
        }
        if (condemned.isEmpty() && badTopics.isEmpty() && rules.isEmpty()) {
            return Optional.empty();
        }
        var reason = Optional.ofNullable(condemned.get(row.id()))
                .or(() -> faultOf(row.topic()))
                .or(() -> refusal(row));
        if (reason.isPresent() && row.id() == suspect) { // it is not sent, which would tell the same
            suspicious = 0;
            endSuspicion();
        }
        return reason;
    }

    /** Returns what the rules of its topic have against a row, as they are now. */
    private Optional<String> refusal(Row row) {
        var known = rules.get(row.topic());
        if (known == null) {
            return Optional.empty();
        }
        var refusal = refusal(row, known);
        if (refusal.isPresent() && known.slice() != slice) {
            refusal = refusal(row, learn(row.topic()));
        }
        return refusal;
    }

    private Optional<String> refusal(Row row, Known known) {
        return known.rules()
                .flatMap(all -> all.refuses(
                        row.topic(), row, topics.maxRequestBytes(), topics.compression(), topics.eventIdHeader()));
    }

    private Known learn(String topic) {
        var known = new Known(topics.rules(topic), slice);
        rules.put(topic, known);
        return known;
    }

    private Optional<String> faultOf(String topic) {
        var bad = badTopics.get(topic);
        if (bad == null) {
            return Optional.empty();
        }
        if (nanoTime.getAsLong() - bad.retryAt() < 0) {
            return Optional.of(bad.reason());
        }
        // whether we may write, only writing tells; whether there is such a topic can be asked
        var fault = bad.forbidden() ? Optional.<String>empty() : topics.fault(topic, -1);
        if (fault.isEmpty()) {
            badTopics.remove(topic);
            told.remove(topic);
        } else {
            badTopics.put(topic, new BadTopic(fault.get(), false, nanoTime.getAsLong() + retryNanos));
        }
        return fault;
    }

    private void forbidden(String topic, String reason) {
        var pause = Math.min(LONGEST_NANOS, Math.max(retryNanos, 2 * pauses.getOrDefault(topic, 0L)));
        pauses.put(topic, pause);
        badTopics.put(topic, new BadTopic(reason, true, nanoTime.getAsLong() + pause));
    }

    /** Takes the rows for the next transaction off those that wait: at most so many, and so many bytes, or one. */
    List<Row> slice(Deque<Row> waiting, int most, long mostBytes) {
        slice++;
        var rows = new ArrayList<Row>(Math.min(waiting.size(), most));
        var bytes = 0L;
        while (!waiting.isEmpty() && rows.size() < Math.min(limit, most)) {
            var next = waiting.peekFirst();
            bytes += next.weight();
            if (!rows.isEmpty() && (next.id() == suspect || bytes > mostBytes)) {
                break;
            }
            rows.add(waiting.removeFirst());
            if (next.id() == suspect) {
                break;
            }
        }
        return rows;
    }

    /**
     * Asks about those topics of these rows that were not met before, so that a missing one is told at once and not by
     * a send that hangs.
     */
    void meet(List<Row> rows) {
        Set<String> strangers = new HashSet<>();
        for (var row : rows) {
            if (!met.contains(row.topic())) {
                strangers.add(row.topic());
            }
        }
        if (strangers.isEmpty()) {
            return;
        }
        met.addAll(strangers);
        topics.missing(strangers)
                .forEach((topic, fault) ->
                        badTopics.put(topic, new BadTopic(fault, false, nanoTime.getAsLong() + retryNanos)));
    }

    /** Returns whether it was not told before that this topic is blocked. */
    boolean isNews(String topic) {
        return told.add(topic);
    }

    /** Returns whether it looks for a culprit, so that the next slice depends on what becomes of the last. */
    boolean searches() {
        return limit != UNLIMITED || suspect != NOBODY;
    }

    /** These went through. */
    void passed(List<Row> rows) {
        if (!told.isEmpty() || !pauses.isEmpty()) {
            for (var row : rows) {
                told.remove(row.topic());
                pauses.remove(row.topic());
            }
        }
        if (!searches()) {
            return;
        }
        var last = rows.get(rows.size() - 1).id();
        if (suspect == NOBODY) {
            suspicious -= rows.size();
        }
        if (last >= suspect) { // itself; or what comes behind it, since it is gone from the table
            endSuspicion();
        }
    }

    /** There is no suspect; those behind it are searched on, if the culprit is among them. */
    private void endSuspicion() {
        suspect = NOBODY;
        limit = suspicious > 0 ? Math.max(1, suspicious / 2) : UNLIMITED;
    }

    /**
     * This failed. Returns whether that was the record's fault, or may have been: then it is of use to try again at
     * once.
     */
    boolean failed(LineStoppedException e) {
        var row = e.row();
        var reason = e.failure().getClass().getSimpleName() + ": " + e.failure().getMessage();
        var verdict = Verdict.of(e.failure());
        if (verdict == Verdict.RECORD
                || verdict == Verdict.BATCH
                || (verdict == Verdict.TOPIC && row.partition() >= 0)) {
            learn(row.topic());
        }
        return switch (verdict) {
            case RECORD -> condemn(row, reason);
            case BATCH -> e.records() == 1 ? condemn(row, reason) : suspect(e);
            case FORBIDDEN -> {
                forbiddenTopics(e).forEach(topic -> forbidden(topic, reason));
                yield true;
            }
            case TOPIC -> {
                var fault = topics.fault(row.topic(), -1);
                if (fault.isPresent()) {
                    badTopics.put(row.topic(), new BadTopic(fault.get(), false, nanoTime.getAsLong() + retryNanos));
                    yield true;
                }
                if (strand(row)) {
                    yield true;
                }
                if (row.partition() < 0) {
                    yield false;
                }
                fault = topics.fault(row.topic(), row.partition());
                yield fault.isPresent() && condemn(row, fault.get());
            }
            case NOTHING -> false;
        };
    }

    /**
     * Before transaction.version 2 a transaction is refused as a whole: the record that is told may be of an innocent
     * topic.
     */
    private static Set<String> forbiddenTopics(LineStoppedException e) {
        return e.failure() instanceof TopicAuthorizationException refused
                        && !refused.unauthorizedTopics().isEmpty()
                ? refused.unauthorizedTopics()
                : Set.of(e.row().topic());
    }

    /**
     * Asks which partitions of its topic have no leader; returns whether the row waits for one, or may go to another
     * now that we know.
     */
    private boolean strand(Row row) {
        var before = stranded.get(row.topic());
        topics.stranded(Set.of(row.topic())).forEach(this::strand);
        var isNews = !Objects.equals(before, stranded.get(row.topic()));
        return isStranded(row) || (row.partition() < 0 && row.key() == null && isNews);
    }

    private void strand(String topic, Optional<Stranded> now) {
        now.ifPresentOrElse(partitions -> stranded.put(topic, partitions), () -> stranded.remove(topic));
    }

    private boolean condemn(Row row, String reason) {
        condemned.put(row.id(), reason);
        if (suspect == row.id() || limit == 1) {
            suspicious = 0; // the culprit is found
        }
        endSuspicion();
        return true;
    }

    private boolean suspect(LineStoppedException e) {
        if (suspect == NOBODY && limit != UNLIMITED) {
            suspicious = e.records(); // the half that was tried
            limit = Math.max(1, suspicious / 2);
        } else {
            suspect = e.row().id();
            suspicious = e.records() - e.index() - 1;
            limit = UNLIMITED;
        }
        return true;
    }
}
