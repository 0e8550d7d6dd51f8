package dev.bellwether.nats;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Listeners;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import io.nats.client.impl.Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Records in a bucket. Thread-safe; what blocks does so on threads of its own. */
final class NatsRecordStore implements RecordStore {
    private static final Logger log = LoggerFactory.getLogger(NatsRecordStore.class);
    private static final AtomicLong SERIAL = new AtomicLong();
    private static final Duration PROBE = Duration.ofSeconds(2);
    private static final long CLOSE_SECONDS = 2;
    /** A server tells no more keys at once. */
    private static final int LARGEST_PAGE = 100_000;

    private final BucketClient client;
    private final NatsConfig config;
    private final Bucket bucket;
    private final Layout layout;
    private final RecordTraits traits;
    private final boolean dropsMessages;
    private final Watches seats;
    private final Watches sessions;
    private final ScheduledThreadPoolExecutor thread;
    /** Looks whether the connection is dead: it must not wait behind watches, which wait for that connection. */
    private final ThreadPoolExecutor lookout;

    private final Listeners<Consumer<Found>> watchers = new Listeners<>(); // by key
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile boolean toldBroken; // that it cannot be connected again

    private NatsRecordStore(BucketClient client, NatsConfig config, Bucket bucket, Layout layout) {
        this.client = client;
        this.config = config;
        this.bucket = bucket;
        this.layout = layout;
        traits = layout.traits(bucket, layout.mustRead() || mayRead(client) ? "" : cannotRead(client));
        dropsMessages = bucket.messageTtl() && client.serverIsAtLeast("2.11.0");
        var name = "bellwether-nats-" + SERIAL.incrementAndGet();
        thread = new ScheduledThreadPoolExecutor(1, task -> daemon(task, name));
        lookout = new ThreadPoolExecutor(
                1,
                1,
                1,
                TimeUnit.MINUTES,
                new LinkedBlockingQueue<>(1), // to look once more is enough
                task -> daemon(task, name + "-lookout"),
                new ThreadPoolExecutor.DiscardPolicy());
        lookout.allowCoreThreadTimeOut(true);
        thread.setRemoveOnCancelPolicy(true);
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false); // closing waits for no next try
        seats = new Watches(client, layout.allSeats(), thread, this::heard);
        sessions = new Watches(client, layout.allSessions(), thread, this::heard);
        client.signs().onSilence(this::whenSilent);
    }

    private static Thread daemon(Runnable task, String name) {
        var made = new Thread(task, name);
        made.setDaemon(true);
        return made;
    }

    /**
     * Finds or makes the bucket.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if JetStream does not answer
     */
    static NatsRecordStore open(BucketClient client, NatsConfig config) {
        return new NatsRecordStore(client, config, Bucket.open(client, config), Layout.of(config));
    }

    /** Choria's brokers may not let us. On a connection of the user's we are not told that, and take silence for it. */
    private static boolean mayRead(BucketClient client) {
        try {
            var unused = client.read("bellwether", Urgency.LOOK, PROBE).join();
            return true;
        } catch (CompletionException e) {
            var denied = e.getCause() instanceof AccessRefusedException;
            if (denied || !client.isOwned()) {
                log.info(
                        "{} may not publish to {}, or is not answered there: standing without reading, as Choria's"
                                + " candidates do",
                        client,
                        client.rightToRead());
                return false;
            }
            return true;
        }
    }

    private static String cannotRead(BucketClient client) {
        return client + " may not read who leads: grant the right to publish to " + client.rightToRead();
    }

    // ---------------------------------------------------------------- what it is like

    @Override
    public String describe() {
        return client.toString();
    }

    @Override
    public String scope() {
        return "bucket";
    }

    @Override
    public RecordTraits traits() {
        return traits;
    }

    @Override
    public String session() {
        return client.session();
    }

    @Override
    public boolean isCrowded() {
        return client.isCrowded();
    }

    @Override
    public CandidacyConfig completed(CandidacyConfig candidacy) {
        return config.backoff().isPresent() && candidacy.standbyBackoff().isEmpty()
                ? candidacy.toBuilder().standbyBackoff(config.backoff().get()).build()
                : candidacy;
    }

    @Override
    public void check(String election, CandidacyConfig candidacy) {
        layout.check(client.toString(), bucket, election, candidacy);
        var ttl = bucket.ttl();
        if (ttl.isZero()) {
            return;
        }
        if (candidacy.lease().compareTo(ttl) >= 0) {
            throw new ElectionException("lease " + Durations.show(candidacy.lease()) + " is not shorter than the TTL "
                    + Durations.show(ttl) + " of " + client
                    + ": the server would drop the key under a leader; shorten the lease, or use a bucket with a"
                    + " longer TTL, or with none");
        }
        // a standby that is away for longer would miss when a key is dropped, and a winner by Choria's rules when to
        // confirm
        var longest = ttl.multipliedBy(3).dividedBy(5);
        candidacy
                .standbyBackoff()
                .filter(backoff -> backoff.compareTo(longest) > 0)
                .ifPresent(backoff -> {
                    throw new ElectionException("standbyBackoff " + Durations.show(backoff)
                            + " is longer than three fifths of the TTL " + Durations.show(ttl) + " of " + client
                            + ": with its jitter, a standby would come back after the server has dropped the key;"
                            + " make it "
                            + Durations.show(longest) + " or shorter");
                });
    }

    @Override
    public Optional<Finding> objection(String election, Duration lease) {
        return bucket.replicas() > 1 && lease.compareTo(Bucket.FAIL_OVER) <= 0
                ? Optional.of(Bucket.tooShort(election, lease))
                : Optional.empty();
    }

    @Override
    public List<Finding> findings(CandidacyConfig candidacy) {
        return Bucket.findings(client, config, candidacy);
    }

    // ---------------------------------------------------------------- records

    @Override
    public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
        return client.read(layout.key(key), urgency, timeout)
                .thenApply(message -> message.map(layout::found).orElse(Found.NOTHING));
    }

    @Override
    public CompletionStage<Written> write(
            RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
        return client.write(layout.key(key), layout.headers(draft), layout.body(draft), expected, urgency, timeout)
                .handle((revision, error) -> {
                    if (error == null) {
                        return Written.at(revision, Instant.EPOCH); // the acknowledgement does not say when
                    }
                    if (Causes.unwrapped(error) instanceof BucketClient.Outdated outdated) {
                        return Written.outdated(outdated.revision());
                    }
                    throw error instanceof CompletionException wrapped ? wrapped : new CompletionException(error);
                });
    }

    @Override
    public CompletionStage<?> put(RecordKey key, String text, Duration kept, Duration timeout) {
        var headers = new Headers();
        if (dropsMessages) {
            headers.put("Nats-TTL", Long.toString(Math.max(1, kept.toSeconds())));
        }
        return client.put(layout.key(key), headers, text.getBytes(StandardCharsets.UTF_8), timeout);
    }

    @Override
    public CompletionStage<?> remove(RecordKey key, Duration timeout) {
        return client.purge(layout.key(key), timeout);
    }

    @Override
    public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
        var wanted = parts == RecordKey.OF_SEAT
                ? layout.allSeats()
                : Stream.concat(beginning.stream().map(part -> Keys.of(List.of(part))), Stream.generate(() -> "*"))
                        .limit(parts)
                        .collect(Collectors.joining("."));
        return client.overview(wanted, timeout)
                .thenApply(overview -> new Listing(
                        overview.keys().keySet().stream()
                                .map(layout::recordKey)
                                .flatMap(Optional::stream)
                                .filter(key -> key.parts().size() == parts)
                                .toList(),
                        overview.now().or(() -> Optional.of(overview.lastWritten())),
                        overview.keys().size() < LARGEST_PAGE));
    }

    @Override
    public CompletionStage<Long> reached(RecordKey key, Duration timeout) {
        return client.overview(layout.key(key), timeout).thenApply(overview -> {
            if (!overview.created().equals(bucket.created())) {
                throw new ElectionException(client
                        + " is not the bucket that it was: it was deleted and made again, and"
                        + " \"" + key.election() + "\" is at an older revision there than was seen before."
                        + " Tokens would fall. Close all candidacies, and use a bucket of another name");
            }
            return overview.lastSequence();
        });
    }

    // ---------------------------------------------------------------- changes

    @Override
    public Watch watch(RecordKey key, Consumer<Found> heard) {
        var name = layout.key(key);
        var watches = key.isSession() ? sessions : seats;
        var added = watchers.add(name, heard);
        watches.add(name);
        return () -> {
            added.close();
            watches.remove(name);
        };
    }

    private void heard(StoredMessage message) {
        var found = layout.found(message);
        watchers.tell(message.key(), watcher -> watcher.accept(found));
    }

    private void whenSilent() {
        if (client.signs().seemsDead() && !closed.get()) {
            lookout.execute(this::look);
        }
    }

    private void look() {
        try {
            if (client.signs().seemsDead() && !closed.get()) {
                client.signs().reconnectIfDead();
                toldBroken = false;
            }
        } catch (Throwable e) { // such as for lack of a thread
            if (toldBroken) {
                log.debug("{} cannot be connected again", client, e);
            } else {
                toldBroken = true;
                log.warn("{} cannot be connected again; trying again, until it can", client, e);
            }
        }
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        var interrupted = Thread.interrupted(); // what is bounded is done anyway
        lookout.shutdownNow();
        seats.stop();
        sessions.stop();
        thread.shutdown();
        interrupted |= awaitEnd(); // of what waits for an answer
        thread.shutdownNow();
        interrupted |= awaitEnd();
        seats.close();
        sessions.close();
        client.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether somebody interrupts this; then there is no more waiting. */
    private boolean awaitEnd() {
        try {
            var unused = thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }
}
