package dev.bellwether.internal.election;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.internal.loop.Retold;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Interrupts;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An infrastructure that need not be there yet. A thread connects, again and again until that succeeds or an error says
 * that it never will, and all who wait for that are told; anybody who stands waits until then, and anybody who asks is
 * told that there is no connection.
 *
 * <p>Thread-safe.
 */
public final class LazyArbiter implements Arbiter {
    private static final Logger log = LoggerFactory.getLogger(Elections.class);
    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final String where;
    private final Supplier<? extends Backend> connector;
    private final Set<Waiting> waiting = ConcurrentHashMap.newKeySet();
    /** Completes, with nothing, when the first try has ended, however it has. */
    private final CompletableFuture<Boolean> tried = new CompletableFuture<>();

    private final long beganNanos = System.nanoTime();
    private final Thread thread = BackendThread.lasting("bellwether-connect", this::run, this::isOver);

    private volatile @Nullable Arbiter connected;
    private volatile @Nullable ElectionException fatal;
    private volatile @Nullable RuntimeException silence;
    private volatile boolean closed; // written under this

    public LazyArbiter(String where, Supplier<? extends Backend> connector) {
        this.where = where;
        this.connector = connector;
    }

    public void start() {
        thread.start();
    }

    /** Returns the refusal of an infrastructure to move to whose tokens cannot be chosen. */
    public static ElectionException cannotRaise(String what, String election) {
        return new ElectionException(what + " to move to it, in \"" + election
                + "\": its tokens cannot be made to rise above those that are in use. Move to PostgreSQL, MariaDB,"
                + " MySQL, Kafka, NATS in a bucket without a TTL, etcd, Consul, Kubernetes without ?beside=, Redis or"
                + " DynamoDB");
    }

    public static Arbiter arbiter(Backend backend) {
        return backend instanceof LeaseStore store ? new LeaseArbiter(store) : (Arbiter) backend;
    }

    // ---------------------------------------------------------------- the thread that connects

    private void run() {
        while (!isOver()) {
            if (!isDecided()) {
                connect();
            }
            if (isDecided()) {
                tellAll(Waiting::settle);
            }
            tried.complete(true);
            if (!isOver()) {
                BackendThread.pause(PAUSE.toNanos());
            }
        }
    }

    private void connect() {
        try {
            connected(connector.get());
        } catch (UnavailableException e) {
            silent(e);
        } catch (Throwable e) {
            if (mayPass(e)) {
                silent(new UnavailableException("cannot connect to " + where + ": " + e, e));
            } else if (e instanceof ElectionException said) {
                failed(said);
            } else { // a client's, which says nothing of whether it may pass
                failed(new ElectionException("cannot connect to " + where + ": " + e, e));
            }
        }
    }

    /** As a lack of memory or of threads does; and an interrupt is somebody else's: who closes this says so, too. */
    private static boolean mayPass(Throwable failure) {
        return failure instanceof VirtualMachineError // first: the rest takes memory
                || Interrupts.caused(failure)
                || Causes.of(failure).stream().anyMatch(VirtualMachineError.class::isInstance);
    }

    private boolean isDecided() {
        return connected != null || fatal != null;
    }

    private boolean isOver() {
        return closed || (isDecided() && waiting.isEmpty());
    }

    private void connected(Backend backend) {
        synchronized (this) {
            if (closed) {
                backend.close();
                return;
            }
            try {
                connected = arbiter(backend);
            } catch (RuntimeException | Error e) { // there will be another
                backend.close();
                throw e;
            }
        }
    }

    private void silent(UnavailableException error) {
        silence = error;
        tellAll(one -> one.silent(error));
    }

    private void failed(ElectionException error) {
        fatal = error;
    }

    /** One that cannot be told, for lack of memory, keeps nobody else from it, nor this thread from the next try. */
    private void tellAll(Consumer<Waiting> told) {
        waiting.forEach(one -> {
            try {
                told.accept(one);
            } catch (Throwable e) {
                Quietly.run(() -> {
                    if (one.lacked.compareAndSet(false, true)) {
                        log.error("{} cannot be told how the connection is; trying again, until it can", one, e);
                    } else {
                        log.debug("{} cannot be told how the connection is", one, e);
                    }
                });
            }
        });
    }

    // ---------------------------------------------------------------- for everybody

    @Override
    public String describe() {
        var present = connected;
        return present == null ? where : present.describe();
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        var error = fatal;
        if (error != null) {
            throw Retold.of(error);
        }
        var present = connected;
        if (present != null) {
            present.check(election, config);
        }
    }

    @Override
    public CandidacyConfig completed(CandidacyConfig config) {
        var present = connected;
        return present == null ? config : present.completed(config);
    }

    @Override
    public List<Finding> findings(CandidacyConfig config) {
        return present().findings(config);
    }

    @Override
    public Duration renewal(CandidacyConfig config) {
        return present().renewal(config);
    }

    @Override
    public Duration recovery(CandidacyConfig config) {
        return present().recovery(config);
    }

    /** True as long as it is not known: who claims asks again. */
    @Override
    public boolean setsTokens() {
        var present = connected;
        return present == null || present.setsTokens();
    }

    @Override
    public Optional<RosterCarrier> rosters() {
        return present().rosters();
    }

    @Override
    public CompletionStage<View> read(String election, Loop loop) {
        return ask(present -> present.read(election, loop));
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return ask(present -> present.order(election, order));
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return ask(present -> present.note(election, token, expected, note));
    }

    @Override
    public Optional<String> handOverObjection() {
        return present().handOverObjection();
    }

    /** None as long as nothing is written. */
    @Override
    public Optional<String> proclaimObjection() {
        var present = connected;
        return present == null ? Optional.empty() : present.proclaimObjection();
    }

    @Override
    public boolean listsCandidates() {
        return present().listsCandidates();
    }

    @Override
    public CompletionStage<List<String>> list() {
        return ask(Arbiter::list);
    }

    private <T> CompletionStage<T> ask(Function<Arbiter, CompletionStage<T>> question) {
        return tried.thenCompose(done -> question.apply(present()));
    }

    private Arbiter present() {
        var present = connected;
        if (present != null) {
            return present;
        }
        var error = fatal;
        if (error != null) {
            throw Retold.of(error);
        }
        var why = silence;
        throw new UnavailableException(
                "not connected to " + where + " yet" + (why == null ? "" : ": " + why.getMessage())
                        + "; it is tried again",
                why);
    }

    /**
     * Returns the one that is connected, or this. By what it returns a candidacy is completed, checked and seated: so
     * none is seated by a backend that has not checked it.
     */
    public Arbiter now() {
        var present = connected;
        return present == null ? this : present;
    }

    /** It is completed and checked, and gets its seat, when there is a connection. */
    @Override
    public Seat seat(Standing standing, Claimant claimant, Loop loop) {
        return new WaitingSeat(standing, claimant, loop);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher, Loop loop) {
        var present = connected;
        return present != null ? present.watch(election, watcher, loop) : new WaitingWatch(election, watcher, loop);
    }

    @Override
    public boolean watchesInOrder() {
        var present = connected;
        return present != null && present.watchesInOrder();
    }

    @Override
    public void close() {
        Arbiter present;
        synchronized (this) {
            closed = true;
            present = connected;
        }
        thread.interrupt();
        if (present != null) {
            present.close();
        }
    }

    // ---------------------------------------------------------------- what waits for the connection

    /** Told once that there is a connection, or that there never will be. Thread-safe. */
    private abstract class Waiting {
        private final AtomicBoolean settled = new AtomicBoolean();
        private final AtomicBoolean lacked = new AtomicBoolean(); // memory to be told, and that was logged

        /** To be called when all of it has been made. */
        final void begin() {
            waiting.add(this);
            try {
                if (isDecided()) { // meanwhile; it may have overlooked us
                    // on the loop nobody may wait for an answer
                    BackendThread.lasting("bellwether-connect", LazyArbiter.this::run, LazyArbiter.this::isOver)
                            .start();
                }
            } catch (RuntimeException | Error e) { // there may be no thread
                waiting.remove(this);
                throw e;
            }
        }

        /** What lacks memory for it waits on, and is told again. */
        final void settle() {
            if (settled.compareAndSet(false, true)) {
                var again = false;
                try {
                    attachOrRefuse();
                } catch (RuntimeException | Error e) {
                    again = mayPass(e);
                    throw e;
                } finally {
                    if (again) {
                        settled.set(false); // last: another thread may settle it from now on
                    } else {
                        waiting.remove(this);
                    }
                }
            }
        }

        /** What is thrown concerns this one only: it says nothing of the connection, by which all others stand. */
        private void attachOrRefuse() {
            var present = connected;
            var error = fatal;
            try {
                if (present != null) {
                    attach(present);
                } else if (error != null) {
                    refuse(error);
                }
            } catch (RuntimeException | Error e) {
                if (present == null || mayPass(e)) {
                    throw e;
                }
                refuse(
                        e instanceof ElectionException said
                                ? said
                                : new ElectionException( // a client's
                                        this + " cannot begin on " + present.describe() + ": " + e, e));
            }
        }

        abstract void attach(Arbiter present);

        abstract void refuse(ElectionException error);

        void silent(RuntimeException why) {}
    }

    /** The fields are confined to the loop. */
    private final class WaitingSeat extends Waiting implements Seat {
        private final Standing standing;
        private final Claimant claimant;
        private final Loop loop;
        private @Nullable Seat seat;
        private @Nullable Map<String, String> proclaimed; // before there was a seat
        private boolean begun;
        private boolean wanted;
        private long least;
        private boolean left;

        private WaitingSeat(Standing standing, Claimant claimant, Loop loop) {
            this.standing = standing;
            this.claimant = claimant;
            this.loop = loop;
        }

        @Override
        void attach(Arbiter present) {
            var config = present.completed(standing.config());
            try {
                present.check(standing.election(), config);
            } catch (UnavailableException e) {
                silent(e); // whether it is refused is seen later
            } catch (RuntimeException | Error e) {
                if (!mayPass(e)) {
                    throw e;
                }
                silent(new UnavailableException(this + " cannot be checked on " + present.describe() + ": " + e, e));
            }
            loop.execute(() -> {
                if (!left && least != 0 && !present.setsTokens()) { // nobody could say when it began to stand
                    refuse(cannotRaise(
                            present.describe() + " cannot be held jointly with others", standing.election()));
                } else if (!left) {
                    var shown = proclaimed;
                    var completed = new Standing(
                            standing.election(),
                            standing.candidate(),
                            standing.instance(),
                            shown == null
                                    ? config
                                    : config.toBuilder().metadata(shown).build());
                    var real = present.seat(completed, claimant, loop);
                    seat = real;
                    if (wanted) {
                        claim(real);
                    }
                }
            });
        }

        @Override
        void refuse(ElectionException error) {
            claimant.failed(error);
        }

        @Override
        void silent(RuntimeException why) {
            claimant.unanswered(Duration.ofNanos(System.nanoTime() - beganNanos), why);
        }

        @Override
        public String toString() {
            return "candidate " + standing.candidate() + " in \"" + standing.election() + '"';
        }

        private void claim(Seat real) {
            if (least == 0) {
                real.claim();
            } else {
                real.claim(least);
            }
        }

        @Override
        public void claim() {
            claim(0);
        }

        @Override
        public void claim(long least) {
            wanted = true;
            this.least = least;
            if (seat != null) {
                claim(seat);
            } else if (!begun) {
                begun = true;
                var why = silence;
                if (why != null) {
                    silent(why);
                }
                begin(); // nothing is done before it stands
            }
        }

        @Override
        public void concede(Duration within) {
            if (seat != null) {
                seat.concede(within);
            }
        }

        @Override
        public void release() {
            wanted = false;
            if (seat != null) {
                seat.release();
            }
        }

        @Override
        public void ready(HandOverNote order) {
            if (seat != null) {
                seat.ready(order);
            }
        }

        @Override
        public void proclaim(Map<String, String> metadata) {
            if (seat != null) {
                seat.proclaim(metadata);
            } else {
                proclaimed = metadata;
            }
        }

        @Override
        public void leave() {
            wanted = false;
            left = true;
            waiting.remove(this);
            if (seat != null) {
                seat.leave();
            } else {
                claimant.left();
            }
        }
    }

    private final class WaitingWatch extends Waiting implements Watch {
        private final String election;
        private final Consumer<View> watcher;
        private final Loop loop;
        private Watch watch = Watch.NONE; // this and the next guarded by this
        private boolean over;

        private WaitingWatch(String election, Consumer<View> watcher, Loop loop) {
            this.election = election;
            this.watcher = watcher;
            this.loop = loop;
            begin();
        }

        @Override
        synchronized void attach(Arbiter present) {
            if (!over) {
                watch = present.watch(election, watcher, loop);
            }
        }

        @Override
        void refuse(ElectionException error) {
            Quietly.run(() -> log.error("{} has failed, and is told nothing", this, error));
        }

        @Override
        public synchronized void close() {
            over = true;
            waiting.remove(this);
            watch.close();
        }

        @Override
        public String toString() {
            return "a watch of \"" + election + '"';
        }
    }
}
