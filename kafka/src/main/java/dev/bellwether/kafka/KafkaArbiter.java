package dev.bellwether.kafka;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * The elections of one Kafka cluster and leader topic. What all candidacies share is here: one journal, one writer, one
 * admin client; each candidacy adds a consumer and its thread.
 *
 * <p>Thread-safe.
 */
final class KafkaArbiter implements Arbiter, JournalClient {
    private static final Duration START_PATIENCE = Duration.ofSeconds(10);
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(2);

    private final Settings settings;
    private final TopicPartition partition;
    private final String id =
            "bellwether-" + Long.toHexString(ThreadLocalRandom.current().nextLong());
    private final AdminConnection admin;
    private final LeaderTopic topic;
    private final BrokerLimits limits;
    private final Writer writer;
    private final Journal journal;
    private final KafkaRosters rosters;
    private final CoalescedRequest<Long> end = new CoalescedRequest<>(this::askForTheEnd);
    private final CoalescedRequest<Boolean> sameLog;
    private final Set<GroupSeat> seats = ConcurrentHashMap.newKeySet();

    KafkaArbiter(Settings settings) {
        this.settings = settings;
        partition = new TopicPartition(settings.topic(), 0);
        admin = new AdminConnection(() -> admin(settings, settings.admin(id + "-admin")));
        Writer made = null;
        try {
            topic = new LeaderTopic(settings, admin);
            topic.require(START_PATIENCE);
            limits = BrokerLimits.read(admin, START_PATIENCE);
            made = new Writer(() -> settings.writer(id + "-writer"), partition, settings.delivery(), topic::missed);
            writer = made;
            var first = topic.identityWithin(START_PATIENCE);
            rosters = new KafkaRosters(settings, admin, limits, writer, id);
            journal = new Journal(
                    partition,
                    () -> new KafkaConsumer<>(settings.reader(id + "-journal")),
                    error -> KafkaErrors.translated(error, settings, describe()),
                    Clock.system());
            var identity = new LogIdentity(first, topic::identity, journal::rereads, this::readAgain);
            sameLog = new CoalescedRequest<>(() -> topic.orMissed(identity.isSame()));
        } catch (RuntimeException | Error e) { // the last may find no thread
            if (made != null) {
                made.close(Duration.ZERO);
            }
            admin.close(Duration.ZERO);
            throw e;
        }
    }

    /** The client looks up the names of all brokers when it is made, and refuses what it cannot read. */
    static Admin admin(Settings settings, Map<String, Object> properties) {
        try {
            return Admin.create(properties);
        } catch (KafkaException e) {
            throw settings.refused(e);
        }
    }

    private void readAgain() {
        topic.replaced();
        journal.beginAgain();
    }

    @Override
    public Optional<RosterCarrier> rosters() {
        return Optional.of(rosters);
    }

    @Override
    public String describe() {
        return "topic " + settings.topic() + " of the Kafka cluster at " + settings.bootstrap();
    }

    @Override
    public Optional<String> handOverObjection() {
        return Optional.of("the group decides whose turn it is. Elections by the log of the topic can (?by=log); here,"
                + " order the leader to stand down");
    }

    @Override
    public Optional<String> proclaimObjection() {
        return Optional.of("it is written into the topic once, with the claim. Elections by the log of the topic can"
                + " change it (?by=log)");
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        limits.check(config);
        topic.check(config);
    }

    @Override
    public List<Finding> findings(CandidacyConfig config) {
        var all = new ArrayList<>(KafkaDoctor.of(admin, settings, config));
        all.addAll(rosters.findings());
        return all;
    }

    @Override
    public boolean setsTokens() {
        return true;
    }

    @Override
    public Seat seat(Standing standing, Claimant claimant, Loop loop) {
        return new GroupSeat(standing, claimant, loop, this);
    }

    // ---------------------------------------------------------------- for seats

    Settings settings() {
        return settings;
    }

    TopicPartition partition() {
        return partition;
    }

    Journal journal() {
        return journal;
    }

    String clientId(Standing standing) {
        return id + '-' + standing.instance();
    }

    /** Returns why brokers take nothing that is written here, if that has lasted for so long. */
    Optional<ElectionException> writesRefused(Duration longest) {
        return writer.refusal(settings.topic(), longest)
                .map(error -> KafkaErrors.translated(error, settings, describe()));
    }

    /** Somebody has written something, and it was read. */
    void writesTaken() {
        writer.forget(settings.topic());
    }

    void opened(GroupSeat seat) {
        seats.add(seat);
    }

    void closed(GroupSeat seat) {
        seats.remove(seat);
        if (seats.isEmpty()) {
            writesTaken(); // nobody writes any more who would learn of it
        }
    }

    @Override
    public ElectionState known(String election) {
        return journal.known(election);
    }

    @Override
    public long nextOffset() {
        return journal.nextOffset();
    }

    @Override
    public boolean isSameLog(Duration patience) {
        try {
            return sameLog.ask().toCompletableFuture().get(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public void write(Entry entry, Consumer<@Nullable Exception> done) {
        writer.write(entry, done);
    }

    @Override
    public Optional<ElectionException> refusal(Throwable error) {
        return KafkaErrors.fatal(error, settings, describe());
    }

    // ---------------------------------------------------------------- for observers and operators

    @Override
    public CompletionStage<View> read(String election, Loop loop) {
        return upToDate(() -> journal.known(election).viewAt(loop.clock().nanos()));
    }

    @Override
    public CompletionStage<List<String>> list() {
        return upToDate(journal::elections);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher, Loop loop) {
        return new ElectionWatch(reader -> journal.join(election, reader), () -> read(election, loop), watcher, loop);
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return upToDate(() -> journal.known(election)).thenCompose(known -> {
            var era = known.era() + (order == Order.END ? 0 : 1);
            return switch (order) {
                case STAND_DOWN -> {
                    var holder = known.state().holderAt(Clock.system().nanos());
                    yield holder.isEmpty()
                            ? CompletableFuture.completedFuture(false)
                            : ordered(new Entry(
                                    Entry.What.STAND_DOWN,
                                    election,
                                    Fields.with("token", holder.get().token()).build()));
                }
                case END ->
                    ordered(new Entry(
                            Entry.What.END, election, Fields.with("era", era).build()));
                case DELETE ->
                    ordered(new Entry(
                            Entry.What.DELETE, election, Fields.with("era", era).build()));
                // a deletion that leaves it in the list: of two at a time, or one that comes late, the era lets the
                // first count alone
                case REOPEN ->
                    known.ended()
                            ? ordered(new Entry(
                                    Entry.What.DELETE,
                                    election,
                                    Fields.with("era", era).and("listed", 1).build()))
                            : CompletableFuture.completedFuture(false);
            };
        });
    }

    private CompletionStage<Boolean> ordered(Entry entry) {
        var written = new CompletableFuture<Boolean>();
        write(entry, error -> {
            if (error == null) {
                written.complete(true);
            } else {
                written.completeExceptionally(error);
            }
        });
        return translated(written);
    }

    /** Completes when all that the journal held when we asked has been read. */
    CompletionStage<Boolean> upToDate() {
        return upToDate(() -> true);
    }

    private <T> CompletionStage<T> upToDate(Supplier<T> answer) {
        return translated(end.ask().thenCompose(journal::reach).thenApply(done -> answer.get()));
    }

    private CompletionStage<Long> askForTheEnd() {
        return topic.orMissed(admin.ask(client -> client.listOffsets(Map.of(partition, OffsetSpec.latest()))
                        .partitionResult(partition))
                .toCompletionStage()
                .thenApply(latest -> latest.offset()));
    }

    private <T> CompletionStage<T> translated(CompletionStage<T> stage) {
        return KafkaErrors.translated(stage, settings, describe());
    }

    @Override
    public void close() {
        var interrupted = Thread.interrupted(); // what is bounded is done anyway
        try {
            seats.forEach(GroupSeat::abandon);
            rosters.close();
            journal.close();
            writer.close(CLOSE_PATIENCE);
        } finally {
            admin.close(CLOSE_PATIENCE);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static UnavailableException unavailable(String message, Throwable cause) {
        return new UnavailableException(message, cause);
    }
}
