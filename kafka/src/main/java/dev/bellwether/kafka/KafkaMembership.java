package dev.bellwether.kafka;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.RosterMode;
import dev.bellwether.spi.AccessPatience;
import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.GroupObserver.Commit;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.RosterTerms;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.record.TimestampType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One member of a roster's group: one consumer and one thread for all of its roles. What core asks is left as word for
 * the thread, which polls, and in between obeys what it finds.
 */
final class KafkaMembership implements GroupMembership, ConsumerRebalanceListener, RosterAssignor.Participant {
    private static final Logger log = LoggerFactory.getLogger(KafkaMembership.class);
    private static final Duration CLOSE_PATIENCE = Duration.ofMillis(500);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(1);
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** So many looks that come soon take longer than one that comes when it is time, and what it has done. */
    private static final int MOST_DOUBTS = 10;

    private static final long MUTE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final RosterStanding standing;
    private final GroupObserver observer;
    private final KafkaRosters rosters;
    private final String topic;
    private final boolean journal;
    private final boolean timed;
    private final @Nullable LogTail journalTail;
    private final LinkedBlockingQueue<Runnable> inbox = new LinkedBlockingQueue<>();
    private final Thread thread;
    private volatile @Nullable KafkaConsumer<byte[], byte[]> consumer;
    private volatile boolean polling;
    private volatile boolean over;
    private volatile boolean dead;
    private volatile boolean written; // what was written last: until then nobody knows whether we may
    private volatile boolean given;
    private final AtomicLong highest = new AtomicLong();
    private final Set<Integer> broadcasting = ConcurrentHashMap.newKeySet();

    // confined to the thread
    private final AccessPatience access;
    private final AccessPatience writing;
    private @Nullable String refusal;
    private @Nullable Long assignedNanos; // when the group first told our client what it has
    private long mutedUntilNanos = System.nanoTime();
    private Uuid doubted = Uuid.ZERO_UUID;
    private int doubts; // of that
    private boolean lacking;
    private final ToldFailures failures = new ToldFailures(); // of our clients
    private boolean unstamped; // and that was told
    private boolean writable;
    private boolean readable;
    private final Set<Integer> owned = new TreeSet<>();
    private final Set<Integer> moving = new HashSet<>();
    private boolean leaving;
    private boolean revoking; // within a poll
    private @Nullable Runnable closing; // behind that
    private long asideUntilNanos = System.nanoTime();
    private long lookedNanos = System.nanoTime() - LOOK_NANOS;
    private Uuid topicId = Uuid.ZERO_UUID;
    private int rereadsSeen;

    KafkaMembership(RosterStanding standing, GroupObserver observer, KafkaRosters rosters) {
        this.standing = standing;
        this.observer = observer;
        this.rosters = rosters;
        topic = rosters.topic(standing);
        access = new AccessPatience(standing.config().accessPatience());
        writing = new AccessPatience(standing.config().accessPatience());
        timed = standing.config().mode() == RosterMode.TIMED;
        journal = standing.config().mode() == RosterMode.EXCLUSIVE;
        journalTail = journal
                ? new LogTail(
                        new TopicPartition(topic, 0),
                        () -> rosters.reader(standing),
                        new RosterReader(
                                observer,
                                new AccessPatience(standing.config().accessPatience()),
                                () -> rosters.writesTaken(standing),
                                error -> rosters.refusal(error, standing),
                                this::caughtUp))
                : null;
        writable = !journal;
        readable = !journal;
        thread = BackendThread.of("bellwether-kafka-roster-" + standing.roster(), this::run, this::died);
    }

    void start() {
        if (journalTail != null) {
            journalTail.start();
        }
        thread.start();
    }

    // ---------------------------------------------------------------- asked by core, on the loop

    @Override
    public void commit(long number) {
        post(() -> observer.committed(number, commitNow()));
    }

    @Override
    public void write(int partition, byte[] record) {
        if (record.length > 0) {
            post(() -> writeNow(partition, record));
        } else if (broadcasting.add(partition)) { // else one waits already that says the same
            post(() -> {
                broadcasting.remove(partition);
                writeNow(partition, record);
            });
        }
    }

    /**
     * Writes, or not: anybody who must know reads. A client that does not know where to send a record blocks for as
     * long as it may, to find out: so after one such, those of the next second are dropped, and the others that this
     * thread works for are served.
     */
    private void writeNow(int partition, byte[] record) {
        if (System.nanoTime() - mutedUntilNanos < 0) {
            return;
        }
        try {
            rosters.write(topic, partition, record, this::wrote);
        } catch (KafkaException | IllegalStateException e) {
            log.debug("a record for partition {} of {} was not written", partition, topic, e);
        }
    }

    /** Called on the producer's thread; or on ours, by a producer that could not even begin. */
    private void wrote(@Nullable Exception error) {
        if (error == null) {
            if (!written) {
                written = true;
                post(writing::answered);
            }
            return;
        }
        if (Thread.currentThread().equals(thread)) {
            mutedUntilNanos = System.nanoTime() + MUTE_NANOS;
            lookSoon(); // is the topic gone?
        }
        var refused = rosters.refusal(error, standing);
        if (refused instanceof AccessRefusedException) {
            written = false;
            post(() -> {
                if (!written && writing.ends(refused, System.nanoTime())) {
                    fail(refused);
                }
            });
        }
    }

    @Override
    public void revoked(int partition) {
        post(() -> moving.remove(partition));
    }

    /** Asked by core, and told by the group. */
    @Override
    public void highest(long token) {
        if (highest.getAndAccumulate(token, Math::max) < token) {
            observer.highest(token);
        }
    }

    @Override
    public long highest() {
        return highest.get();
    }

    @Override
    public void standAside(Duration time) {
        post(() -> outsidePoll(() -> {
            asideUntilNanos = System.nanoTime() + time.toNanos();
            discard(CLOSE_PATIENCE);
        }));
    }

    @Override
    public void leave() {
        if (dead) {
            observer.left(); // the session runs out
            return;
        }
        post(() -> outsidePoll(() -> {
            leaving = true;
            discard(CLOSE_PATIENCE);
            observer.left();
        }));
    }

    @Override
    public RosterTerms terms() {
        return RosterTerms.of(standing.config());
    }

    @Override
    public boolean wasGiven() {
        return given;
    }

    /** Told within a poll, in which nothing can be closed. */
    @Override
    public void refused(String why) {
        refusal = why;
    }

    /** What was asked before is done before: the last record may be a release. */
    @Override
    public void close() {
        post(() -> over = true);
        if (journalTail != null) {
            journalTail.close();
        }
    }

    /** Ends the thread, whatever it is about: the connection is being closed. */
    void abandon() {
        close();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(2));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        over = true; // if it has not come to that
    }

    private void post(Runnable message) {
        inbox.add(message);
        var polled = consumer;
        if (polling && polled != null) {
            polled.wakeup();
        }
    }

    // ---------------------------------------------------------------- our thread

    private void run() {
        try {
            if (!writable) {
                probe();
            }
            while (!over) {
                try {
                    drain();
                    turn();
                } catch (InterruptException e) {
                    Thread.interrupted(); // not by us, who end it otherwise: it goes on
                    failedOver(e);
                } catch (RuntimeException e) { // of the client's, or ours: it may be no more than half done
                    failedOver(e);
                }
            }
        } finally {
            discard(CLOSE_PATIENCE);
            rosters.closed(this);
        }
    }

    String topic() {
        return topic;
    }

    /** An error ended the thread; anybody who believes in this membership is told, and waits for nothing. */
    private void died(Throwable death) {
        dead = true;
        if (!over) {
            observer.failed(new ElectionException(
                    "the thread of member \"" + standing.member() + "\" of roster \"" + standing.roster()
                            + "\" died of " + death + ". It leads nothing. Join again",
                    death));
        }
        observer.left();
    }

    /** Permanently. */
    private void fail(ElectionException error) {
        outsidePoll(() -> {
            observer.failed(error);
            leaving = true;
            discard(CLOSE_PATIENCE);
        });
    }

    /** Does what closes our client: not within a poll, in which others may wait for us, but behind it. */
    private void outsidePoll(Runnable work) {
        if (revoking) {
            closing = work;
        } else {
            work.run();
        }
    }

    /**
     * Joins only when it can claim at once: a client's first record takes a while, and for that while the partitions
     * that others have given up for a newcomer would be nobody's. The record says nothing.
     */
    private void probe() {
        try {
            rosters.write(topic, 0, new byte[0], error -> post(() -> probed(error)));
        } catch (KafkaException | IllegalStateException e) {
            probed(e);
        }
    }

    private void probed(@Nullable Exception error) {
        if (error == null) {
            writing.answered();
            writable = true;
            return;
        }
        var told = rosters.refusal(error, standing);
        if (writing.ends(told, System.nanoTime())) {
            fail(told);
        } else if (!over && !leaving) {
            log.debug("{} cannot write yet; trying again", standing, error);
            await(standing.config().candidacy().retryInterval());
            probe();
        }
    }

    /** Told by the reader, on its thread. */
    private void caughtUp() {
        post(() -> readable = true);
        observer.caughtUp();
    }

    private void turn() {
        var aside = asideUntilNanos - System.nanoTime();
        if (over) {
            return;
        }
        if (!leaving) {
            look();
        }
        if (leaving || aside > 0) {
            await(leaving ? LONGEST_POLL : Duration.ofNanos(aside));
            return;
        }
        if (!writable || !readable) {
            await(LONGEST_POLL);
            return;
        }
        var polled = consumer;
        if (polled == null) {
            polled = rosters.member(standing, this);
            consumer = polled;
            polled.subscribe(List.of(topic), this);
        }
        polling = true;
        try {
            var records = polled.poll(inbox.isEmpty() ? LONGEST_POLL : Duration.ZERO);
            if (!records.isEmpty()) {
                rosters.writesTaken(standing);
            }
            if (!records.isEmpty() || isAssignedForLong()) {
                goesWell();
            }
            heard(records);
        } catch (WakeupException e) {
            // somebody left us word
        } finally {
            polling = false;
            revoking = false;
            closeIfAsked();
        }
        if (refusal != null) {
            fail(new ElectionException("member \"" + standing.member() + "\" of roster \"" + standing.roster()
                    + "\", group " + standing.config().group() + ", is refused: " + refusal));
        }
    }

    private void closeIfAsked() {
        var work = closing;
        closing = null;
        if (work != null) {
            work.run();
        }
    }

    /** A member may lack the right to read what the partitions hold: then the poll after the assignment says so. */
    private boolean isAssignedForLong() {
        return assignedNanos != null
                && System.nanoTime() - assignedNanos > standing.config().lease().toNanos();
    }

    private void goesWell() {
        access.answered();
        failures.passed();
    }

    /** What the client got. */
    void heard(Iterable<ConsumerRecord<byte[], byte[]>> records) {
        for (var each : records) {
            if (each.partition() >= standing.config().partitions()) {
                continue; // the topic has grown, and is about to be refused for it
            }
            if (timed && !isStamped(each)) {
                continue;
            }
            observer.read(
                    each.partition(),
                    each.offset(),
                    each.timestamp(),
                    each.value() == null ? new byte[0] : each.value());
        }
    }

    /** A topic that a broker made by itself has others' clocks, until it is fixed; any other one may be altered. */
    private boolean isStamped(ConsumerRecord<byte[], byte[]> record) {
        var isStamped = record.timestampType() == TimestampType.LOG_APPEND_TIME;
        if (!isStamped && !unstamped) {
            log.warn(
                    "topic {} has the timestamps of its writers, and mode {} needs those of the broker. Roles may have"
                            + " no leader until it has them: set message.timestamp.type=LogAppendTime",
                    topic,
                    standing.config().mode());
        }
        unstamped = !isStamped;
        return isStamped;
    }

    /**
     * Looks after the topic now and then. The number of partitions must not change: roles would have other owners here
     * and there. And another topic of the same name is another log, though our place may exist in it, too. Brokers
     * that answer may refuse all that is written.
     */
    private void look() {
        if (System.nanoTime() - lookedNanos >= LOOK_NANOS) {
            lookedNanos = System.nanoTime();
            var asked = System.nanoTime();
            CompletionStage<Optional<TopicDescription>> answer =
                    rosters.look(standing).toCompletableFuture().orTimeout(LOOK_NANOS, TimeUnit.NANOSECONDS);
            answer.whenComplete((found, error) -> {
                if (found != null) {
                    rosters.writesRefused(
                                    standing, standing.config().candidacy().renewInterval())
                            .ifPresentOrElse(
                                    why -> observer.unanswered(Duration.ofNanos(System.nanoTime() - asked), why),
                                    observer::answered);
                    post(() -> found.ifPresentOrElse(this::looked, this::missed));
                } else {
                    observer.unanswered(
                            Duration.ofNanos(System.nanoTime() - asked),
                            error == null || error instanceof TimeoutException
                                    ? null
                                    : rosters.refusal(Causes.unwrapped(error), standing));
                }
            });
        }
    }

    private void lookSoon() {
        var soon = System.nanoTime() - LOOK_NANOS + MUTE_NANOS;
        lookedNanos = soon - lookedNanos < 0 ? soon : lookedNanos;
    }

    private void looked(TopicDescription found) {
        var id = found.topicId();
        var count = found.partitions().size();
        if (count < standing.config().partitions()) {
            tooFew(id, count);
            return;
        }
        doubted = Uuid.ZERO_UUID;
        if (count != standing.config().partitions()) {
            fail(RosterTopic.changed(topic, count, standing.config()));
            return;
        }
        if (lacking || (!topicId.equals(Uuid.ZERO_UUID) && !id.equals(topicId))) {
            lacking = true;
            rosters.bare(standing)
                    .thenAccept(bare -> post(() -> {
                        lacking = bare && rosters.settings().createTopic();
                        if (!bare) {
                            rosters.isWhole(standing);
                        } else if (!leaving && !over) {
                            rosters.repair(standing, id);
                        }
                    }));
        }
        mutedUntilNanos = System.nanoTime();
        if (journalTail != null) {
            if (!topicId.equals(Uuid.ZERO_UUID) && !id.equals(topicId) && journalTail.rereads() == rereadsSeen) {
                journalTail.beginAgain();
            }
            rereadsSeen = journalTail.rereads();
        }
        topicId = id;
    }

    /**
     * No topic ever shrinks, and ours had enough partitions when we came: so this is another one, made by a broker, or
     * by somebody who wants it so. It has settings also when another member has fixed it since we looked: then the
     * next look finds it whole. A member may lack the right to ask for them, too: so it waits for longer than another
     * one needs to see that and to fix it.
     */
    private void tooFew(Uuid id, int count) {
        lacking = true;
        rosters.bare(standing)
                .thenAccept(bare -> post(() -> {
                    if (bare) {
                        repair(id);
                    } else if (!leaving && doubted.equals(id) && ++doubts >= MOST_DOUBTS) {
                        fail(RosterTopic.changed(topic, count, standing.config()));
                    } else {
                        doubts = doubted.equals(id) ? doubts : 0;
                        doubted = id;
                        lookSoon();
                    }
                }));
    }

    private void repair(Uuid id) {
        if (!leaving && !over) {
            rosters.repair(standing, id);
            lookSoon();
        }
    }

    private void missed() {
        if (!leaving && !over) {
            lacking = true; // a broker may be faster
            rosters.createAgain(standing);
        }
    }

    private Commit commitNow() {
        var committing = consumer;
        if (committing == null || owned.isEmpty()) {
            return Commit.REFUSED;
        }
        var partition = new TopicPartition(topic, owned.iterator().next());
        try {
            var patience = standing.config().commitPatience();
            GroupMember.commit(committing, partition, new OffsetAndMetadata(0), patience);
            access.answered();
            return Commit.ACCEPTED;
        } catch (RebalanceInProgressException e) {
            return Commit.REBALANCING;
        } catch (CommitFailedException e) {
            return Commit.REFUSED; // the next poll will tell
        } catch (KafkaException e) {
            return Commit.UNANSWERED;
        }
    }

    /** An error of the client that it does not recover from: go on with a new one. */
    private void failedOver(RuntimeException error) {
        var told = rosters.refusal(error, standing);
        if (access.ends(told, System.nanoTime())) {
            fail(told);
            return;
        }
        failures.warn(
                log, "the client of " + standing + " failed; continuing with a new one, until that can go on", error);
        if (told instanceof AccessRefusedException && !owned.isEmpty()) { // others may be allowed to read them
            asideUntilNanos = System.nanoTime() + standing.config().lease().toNanos();
            discard(CLOSE_PATIENCE);
            return;
        }
        discard(Duration.ZERO);
        await(standing.config().candidacy().retryInterval());
    }

    // KafkaConsumer.close(CloseOptions) is younger than the oldest client we run with
    @SuppressWarnings("deprecation")
    private void discard(Duration patience) {
        var closing = consumer;
        consumer = null;
        assignedNanos = null;
        var had = List.copyOf(owned);
        owned.clear();
        moving.clear();
        if (!had.isEmpty() && !leaving) {
            observer.lost(had);
        }
        if (closing != null) {
            try {
                closing.close(patience);
            } catch (RuntimeException e) {
                log.debug("a client could not be closed; its session runs out", e);
            }
        }
    }

    /** Obeys what waits now: what comes meanwhile must not keep us from the poll. */
    private void drain() {
        for (var left = inbox.size(); left > 0 && !over; left--) {
            var message = inbox.poll();
            if (message == null) {
                return;
            }
            message.run();
        }
    }

    /** Waits for a message, at most for so long, and obeys it. */
    private void await(Duration longest) {
        try {
            var message = inbox.poll(longest.toNanos(), TimeUnit.NANOSECONDS);
            if (message != null) {
                message.run();
            }
        } catch (InterruptedException e) {
            // not by us, who end it otherwise: it waits no longer
        }
    }

    // ---------------------------------------------------------------- called by the consumer, within a poll

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        var assigned = consumer;
        if (assigned == null) {
            return;
        }
        assignedNanos = assignedNanos == null ? (Long) System.nanoTime() : assignedNanos;
        if (journal) {
            goesWell(); // not before: a poll that was woken says nothing
        }
        if (partitions.isEmpty()) {
            return;
        }
        if (journal) {
            assigned.pause(partitions); // nothing is fetched: the journal is read by one for all
            partitions.forEach(partition -> assigned.seek(partition, 0));
        } else {
            assigned.seekToEnd(partitions);
        }
        var numbers = numbers(partitions);
        if (numbers.size() < partitions.size()) {
            lookedNanos = System.nanoTime() - LOOK_NANOS; // there are more than there should be
        }
        given = true;
        owned.addAll(numbers);
        observer.assigned(numbers);
    }

    /** Others wait until this returns; what else is asked meanwhile is done, so that nobody else's roles suffer. */
    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        if (leaving || consumer == null || partitions.isEmpty()) {
            return;
        }
        var numbers = numbers(partitions);
        moving.addAll(numbers);
        polling = false; // within a poll, and yet not to be woken: the commit that is asked for here would hear it
        revoking = true;
        observer.revoking(numbers);
        var until = System.nanoTime() + standing.config().standDownBudget().toNanos();
        while (!moving.isEmpty() && closing == null && System.nanoTime() - until < 0 && !over) {
            await(Duration.ofNanos(until - System.nanoTime()));
        }
        if (closing != null) {
            throw new WakeupException(); // which ends the poll
        }
        revoking = false;
        polling = true;
        moving.clear();
        owned.removeAll(numbers);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty() && consumer != null) {
            var numbers = numbers(partitions);
            owned.removeAll(numbers);
            observer.lost(numbers);
        }
    }

    /** Those that there should be: a topic may have grown, and be refused for it a little later. */
    private List<Integer> numbers(Collection<TopicPartition> partitions) {
        return partitions.stream()
                .map(TopicPartition::partition)
                .filter(number -> number < standing.config().partitions())
                .toList();
    }
}
