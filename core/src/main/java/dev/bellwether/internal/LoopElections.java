package dev.bellwether.internal;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LockConfig;
import dev.bellwether.Metrics;
import dev.bellwether.Names;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterState;
import dev.bellwether.RunLock;
import dev.bellwether.internal.election.LazyArbiter;
import dev.bellwether.internal.election.LoopCandidacy;
import dev.bellwether.internal.election.SeatElection;
import dev.bellwether.internal.joint.JointArbiter;
import dev.bellwether.internal.lock.CandidacyLock;
import dev.bellwether.internal.lock.LockHost;
import dev.bellwether.internal.lock.LockMetrics;
import dev.bellwether.internal.loop.LoopThread;
import dev.bellwether.internal.loop.OutageLog;
import dev.bellwether.internal.loop.QuietMetrics;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.internal.loop.Requests;
import dev.bellwether.internal.roster.LoopRoster;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.BackendThread;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All candidacies of one backend, on one loop. Thread-safe. */
public final class LoopElections implements Elections {
    private static final Logger log = LoggerFactory.getLogger(Elections.class);
    private static final long SWEEP_NANOS = 500_000_000L;
    private static final long LOOK_MILLIS = 20;
    /** What the end needs is tried for ten seconds, while there is no memory for it. */
    private static final int MOST_TRIES = 1_000;

    private static final long TRY_AGAIN_NANOS = 10_000_000L;
    /** A year: beyond it sums of nanoseconds overflow before long. */
    private static final long LONGEST_KEPT_NANOS = TimeUnit.DAYS.toNanos(366);

    private final Arbiter arbiter;
    private final Supplier<Optional<RosterCarrier>> carrier;
    private final ElectionsConfig config;
    private final Metrics metrics;
    private final OutageLog outages;
    private final Loop loop;
    private final Executor executor;
    private final @Nullable ExecutorService ownExecutor;
    private final Map<Key, LoopCandidacy> candidacies = new ConcurrentHashMap<>();
    private final Map<RosterKey, LoopRoster> rosters = new ConcurrentHashMap<>();
    /** Those for which something is just being made. */
    private final Set<Record> begins = ConcurrentHashMap.newKeySet();
    /** Of locks whose runs have ended, and until when by the loop's clock. */
    private final Map<Candidacy, Long> kept = new ConcurrentHashMap<>();
    /** How many tasks of locks of ours the thread is in. */
    private final ThreadLocal<Integer> lockTasks = ThreadLocal.withInitial(() -> 0);

    private final AtomicBoolean closed = new AtomicBoolean();
    private final CountDownLatch closing = new CountDownLatch(1); // until there is a thread that closes
    private volatile @Nullable Thread closer;
    /** Those of which these are a half: they end before. */
    private final List<LoopElections> joint = new CopyOnWriteArrayList<>();
    /** How many of those have let go of these, at their end. */
    private final AtomicInteger jointEnded = new AtomicInteger();

    private boolean abandoned; // all who stand here; on the loop
    private final List<BooleanSupplier> last = new ArrayList<>(); // whether these need the loop no more; on the loop

    private record Key(String election, String candidate) {}

    private record RosterKey(String roster, String group, String member) {}

    private LoopElections(Arbiter arbiter, Supplier<Optional<RosterCarrier>> carrier, ElectionsConfig config) {
        this.arbiter = arbiter;
        this.carrier = carrier;
        this.config = config;
        metrics = new QuietMetrics(config.metrics());
        outages = new OutageLog(log, arbiter::describe, metrics);
        var ownLoop =
                config.loop().isPresent() ? null : new LoopThread(Clock.system(), config.pauseBound(), this::stalled);
        loop = ownLoop == null ? config.loop().orElseThrow() : ownLoop;
        if (config.executor().isPresent()) {
            ownExecutor = null;
            executor = config.executor().get();
        } else {
            ownExecutor = Executors.newCachedThreadPool(new WorkThreads());
            executor = ownExecutor;
        }
        loop.execute(() -> loop.every(SWEEP_NANOS, this::sweep));
        if (ownLoop != null) {
            ownLoop.start(); // last: of what fails before, no thread is left behind
        }
    }

    /** Holds elections over a backend. */
    public static LoopElections over(Backend backend, ElectionsConfig config) {
        return new LoopElections(LazyArbiter.arbiter(backend), backend::rosters, config);
    }

    /** Holds elections over a backend that is connected to now; or later, if the settings say so. */
    public static LoopElections over(String where, Supplier<? extends Backend> connector, ElectionsConfig config) {
        if (!config.connectLazily()) {
            var backend = connector.get();
            try {
                return over(backend, config);
            } catch (RuntimeException | Error e) { // there may be no thread for the loop
                closeForNobody(backend::close, e);
                throw e;
            }
        }
        return lazily(new LazyArbiter(where, connector), config);
    }

    /** Holds elections over what this begins to connect to. */
    static LoopElections lazily(LazyArbiter arbiter, ElectionsConfig config) {
        var elections = new LoopElections(arbiter, arbiter::rosters, config);
        try {
            arbiter.start();
        } catch (RuntimeException | Error e) { // there may be no thread for that
            closeForNobody(elections::close, e);
            throw e;
        }
        return elections;
    }

    /** Nobody else knows of it. */
    private static void closeForNobody(Runnable close, Throwable because) {
        try {
            close.run();
        } catch (RuntimeException | Error e) {
            because.addSuppressed(e);
        }
    }

    /** Holds elections over the infrastructures of both, which are closed with them. */
    public static LoopElections jointly(Elections old, Elections next, ElectionsConfig config) {
        var first = half(old, "old");
        var second = half(next, "next");
        if (first == second) {
            throw new ElectionException("the old and the next elections are the same " + first
                    + ": joint elections are made of two, by a connection each, on two infrastructures");
        }
        var arbiter = new JointArbiter(first.side(), second.side());
        var jointly = new LoopElections(arbiter, arbiter::rosters, config);
        first.joint.add(jointly);
        second.joint.add(jointly);
        return jointly;
    }

    private static LoopElections half(Elections elections, String which) {
        if (elections instanceof LoopElections ours) {
            ours.requireOpen();
            return ours;
        }
        throw new ElectionException(
                "the " + which + " elections are of " + elections.getClass().getName()
                        + ": joint elections are made of such as Elections.connect or a backend returns");
    }

    private JointArbiter.Side side() {
        return new JointArbiter.Side(arbiter, loop, this::closeWithJoint);
    }

    @Override
    public Candidacy stand(String election, CandidacyConfig config) {
        return stand(election, config, metrics, () -> {}, Optional.empty(), () -> {});
    }

    private Candidacy stand(
            String election,
            CandidacyConfig asked,
            Metrics told,
            Runnable onInterrupt,
            Optional<BooleanSupplier> worksElsewhere,
            Runnable onEnd) {
        requireOpen();
        Names.election(election);
        var decides = arbiter instanceof LazyArbiter lazy ? lazy.now() : arbiter;
        var settings = decides.completed(asked);
        decides.check(election, settings);
        var key = new Key(election, settings.candidateOrNew());
        var candidacy = only(
                candidacies,
                key,
                () -> new LoopCandidacy(
                        new Standing(
                                election, key.candidate(), UUID.randomUUID().toString(), settings),
                        decides,
                        seatElection(election),
                        loop,
                        settings.executor().orElse(executor),
                        told,
                        config.pauseBound(),
                        outages,
                        onInterrupt,
                        worksElsewhere,
                        ended -> {
                            candidacies.remove(key, ended);
                            kept.remove(ended);
                            onEnd.run();
                        }),
                () -> alreadyStands(key));
        if (closed.get()) { // meanwhile; it may have overlooked us
            candidacies.remove(key, candidacy);
            requireOpen();
        }
        try {
            candidacy.start();
        } catch (RuntimeException | Error e) {
            candidacies.remove(key, candidacy); // nobody will ever drive it
            throw e;
        }
        return candidacy;
    }

    /**
     * Makes one, unless there is one of this id, or is just being made: what the backend does for an id is for both,
     * and undone when either leaves.
     */
    private <K extends Record, T> T only(
            Map<K, T> present, K key, Supplier<T> maker, Supplier<ElectionException> refusal) {
        if (!begins.add(key)) {
            throw refusal.get();
        }
        try {
            if (present.containsKey(key)) {
                throw refusal.get();
            }
            var made = maker.get();
            present.put(key, made);
            return made;
        } finally {
            begins.remove(key);
        }
    }

    private static ElectionException alreadyStands(Key key) {
        return new ElectionException("candidate \"" + key.candidate() + "\" already stands for \"" + key.election()
                + "\" here: close that candidacy first, or give this one another id");
    }

    @Override
    public RunLock lock(String name, LockConfig settings) {
        requireOpen();
        arbiter.check(Names.election(name), arbiter.completed(settings.candidacy()));
        return new CandidacyLock(name, settings, new Locking());
    }

    @Override
    public Roster roster(String name, RosterConfig settings) {
        requireOpen();
        Names.election(name);
        var carries = carrier();
        carries.check(name, settings);
        var key = new RosterKey(name, settings.group(), settings.memberOrNew());
        var roster = only(
                rosters,
                key,
                () -> new LoopRoster(
                        new RosterStanding(name, key.member(), UUID.randomUUID().toString(), settings),
                        carries,
                        loop,
                        settings.executor().orElse(executor),
                        metrics,
                        config.pauseBound(),
                        outages,
                        ended -> rosters.remove(key, ended)),
                () -> alreadyHere(name, key));
        if (closed.get()) { // meanwhile; it may have overlooked us
            rosters.remove(key, roster);
            loop.execute(roster::abandon);
            requireOpen();
        }
        try {
            roster.start();
        } catch (RuntimeException | Error e) {
            rosters.remove(key, roster); // nobody will ever drive it, and it has joined
            roster.abandon();
            throw e;
        }
        return roster;
    }

    private static ElectionException alreadyHere(String name, RosterKey key) {
        return new ElectionException("member \"" + key.member() + "\" of roster \"" + name + "\", group " + key.group()
                + ", is here already: close it first, or give this one another id");
    }

    @Override
    public Optional<RosterState> rosterState(String name) {
        requireOpen();
        Names.election(name);
        var carries = carrier();
        return Requests.answer(
                Requests.ask(() -> carries.read(name)),
                config.requestTimeout(),
                "look at roster \"" + name + "\" on " + arbiter.describe());
    }

    private RosterCarrier carrier() {
        return carrier.get()
                .orElseThrow(() -> new ElectionException(arbiter.describe()
                        + " carries no rosters: use kafka: without by=log, or memory: within one process, or stand"
                        + " for an election per role"));
    }

    @Override
    public Election election(String name) {
        requireOpen();
        return seatElection(Names.election(name));
    }

    private SeatElection seatElection(String name) {
        return new SeatElection(name, arbiter, loop, executor, config.requestTimeout());
    }

    @Override
    public List<String> list() {
        requireOpen();
        return Requests.answer(
                        Requests.ask(arbiter::list),
                        config.requestTimeout(),
                        "list the elections on " + arbiter.describe())
                .stream()
                .sorted()
                .toList();
    }

    @Override
    public void close() {
        // Where a seat passes with the connection, a joint mandate must be over before that is closed.
        var waits = !runsHere() && joint.stream().noneMatch(LoopElections::runsHere);
        joint.forEach(one -> one.close(waits));
        if (joint.stream().allMatch(LoopElections::hasClosed)) { // else those close these when they have ended
            close(waits);
        }
    }

    /** Returns whether nothing of these is open any more. An interrupted thread that closes them does not wait. */
    private boolean hasClosed() {
        var thread = closer;
        return closing.getCount() == 0 && (thread == null || !thread.isAlive());
    }

    /** Closes these with joint elections that have ended; if they are a half of several, with the last of those. */
    private void closeWithJoint() {
        jointEnded.incrementAndGet();
        joint.stream().filter(one -> !one.closed.get()).forEach(LoopElections::close);
        if (jointEnded.get() >= joint.size()) { // else another of them, which ends at present, may lead or work yet
            close(true);
        }
    }

    private void close(boolean waits) {
        if (closed.compareAndSet(false, true)) {
            try {
                beginToClose();
            } finally {
                closing.countDown();
            }
        }
        // Each call waits, not the first alone: the process may end when the last of them returns.
        if (waits && !runsHere()) { // else we would wait for ourselves
            try {
                closing.await();
                var thread = closer;
                if (thread != null) {
                    thread.join();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns whether the end waits for the caller. */
    private boolean runsHere() {
        return Thread.currentThread().equals(closer)
                || lockTasks.get() > 0
                || candidacies.values().stream().anyMatch(LoopCandidacy::runsHere)
                || rosters.values().stream().anyMatch(LoopRoster::runsHere);
    }

    private void beginToClose() {
        var open = candidacies.values().stream()
                .filter(candidacy -> !kept.containsKey(candidacy)) // these run out: somebody may be about to run again
                .toList();
        var members = List.copyOf(rosters.values());
        open.forEach(candidacy -> resign(candidacy::resign));
        members.forEach(member -> resign(member::resign));
        // On a thread of its own, which nobody interrupts: who is interrupted need not wait, but the seats are handed
        // over in order.
        var thread = new Thread(() -> finish(open, members), "bellwether-close");
        thread.setDaemon(true);
        closer = thread;
        try {
            thread.start();
        } catch (Throwable e) { // the system has no thread left: here, then, and those who close meanwhile wait
            var here = runsHere();
            closer = Thread.currentThread();
            try {
                finish(here ? List.of() : open, here ? List.of() : members); // which would wait for us
            } finally {
                closer = null;
            }
        }
    }

    /** What cannot resign now, for lack of memory, is abandoned at the end. */
    private void resign(Runnable resignation) {
        try {
            resignation.run();
        } catch (RuntimeException | Error e) {
            Quietly.run(() -> log.error("one of the {} could not resign in order", this, e));
        }
    }

    /** Waits for all who have resigned, no longer than for the one who may take longest; then lets go of everything. */
    private void finish(List<LoopCandidacy> resigned, List<LoopRoster> members) {
        var since = System.nanoTime();
        try {
            resigned.forEach(candidacy -> candidacy.awaitClosed(since));
            members.forEach(member -> member.awaitClosed(since));
        } finally {
            letGo();
        }
    }

    /** What is bounded is done though we are interrupted, and as soon as there is memory for it. */
    private void letGo() {
        var interrupted = Thread.interrupted(); // perhaps while we have waited
        interrupted |= endMandates();
        closeArbiter();
        execute(() -> {
            candidacies.values().forEach(one -> abandon(one::abandon, one::isToHalt, one::isHeard));
            rosters.values().forEach(one -> abandon(one::abandon, one::isToHalt, one::isHeard));
            abandoned = true;
            closeLoop();
        });
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeArbiter() {
        try {
            arbiter.close();
        } catch (Throwable e) { // a client whose class loader has ended throws errors
            Quietly.run(() -> log.error(
                    "{} could not be closed in order; connections or threads may be left until this process ends",
                    this,
                    e));
        }
    }

    /** Has the loop take a turn that nobody else would ask for again. Without memory for it, a little later. */
    private void execute(Runnable turn) {
        insist(() -> {
            loop.execute(turn);
            return true;
        });
    }

    private static <T> T insist(Supplier<T> question) {
        for (var tries = MOST_TRIES; ; tries--) {
            try {
                return question.get();
            } catch (VirtualMachineError e) {
                if (tries == 0) {
                    throw e;
                }
                BackendThread.pause(TRY_AGAIN_NANOS);
            }
        }
    }

    /**
     * Where a seat passes with the connection, nobody may lead here when that is closed: mandates end before. While the
     * loop is held up, each runs out by itself. Returns whether this was interrupted, which ends no wait: who
     * interrupts all threads of a process has not ended it yet.
     */
    private boolean endMandates() {
        var ended = new CountDownLatch(1);
        try {
            execute(() -> {
                candidacies.values().forEach(LoopCandidacy::endNow);
                rosters.values().forEach(LoopRoster::endNow);
                ended.countDown();
            });
        } catch (VirtualMachineError e) {
            Quietly.run(() -> log.error("{} wait for their mandates to run out", this, e));
        }
        // by a clock that runs whatever the loop's does
        var overNanos = System.nanoTime() + insist(this::longestLease).toNanos();
        var interrupted = false;
        while (insist(this::leads) && System.nanoTime() - overNanos < 0) {
            try {
                if (ended.await(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                    break;
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        return interrupted;
    }

    private Duration longestLease() {
        return Stream.concat(
                        candidacies.values().stream().map(LoopCandidacy::lease),
                        rosters.values().stream().map(LoopRoster::lease))
                .max(Comparator.naturalOrder())
                .orElse(Duration.ZERO);
    }

    private boolean leads() {
        return candidacies.values().stream().anyMatch(LoopCandidacy::isLeader)
                || rosters.values().stream().anyMatch(roster -> !roster.roles().isEmpty());
    }

    @Override
    public String toString() {
        return "elections on " + arbiter.describe();
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("the " + this + " are closed");
        }
    }

    private void stalled(Duration length, String how) {
        Quietly.run(() -> log.warn("{}", describeStall(length, how)));
        metrics.stalled(length);
    }

    /** Says what a stall meant for those who stand: nothing, if it was much shorter than the shortest lease. */
    String describeStall(Duration length, String how) {
        return "this process did not run for %s (%s); %s"
                .formatted(
                        Durations.show(length),
                        how,
                        candidacies.values().stream()
                                .map(LoopCandidacy::lease)
                                .min(Comparator.naturalOrder())
                                .map(lease -> "the shortest lease here is " + Durations.show(lease))
                                .orElse("nobody stands here"));
    }

    /**
     * The loop stays until the end of work that is halted otherwise, since the next who has the seat does not wait for
     * it; and until everything is heard that was told.
     */
    private void abandon(Runnable abandon, BooleanSupplier isToHalt, BooleanSupplier isHeard) {
        last.add(() -> !isToHalt.getAsBoolean() && isHeard.getAsBoolean());
        abandon.run();
    }

    /** Ends the loop and our executor, if we have let go of them and nobody needs them any more. */
    private void closeLoop() {
        last.removeIf(BooleanSupplier::getAsBoolean);
        if (abandoned && last.isEmpty()) {
            loop.close();
            if (ownExecutor != null) {
                ownExecutor.shutdown();
            }
        }
    }

    /** Lets each candidacy look at the clocks now and then, since no timer is due right after a suspension. */
    private void sweep() {
        var now = loop.clock().nanos();
        kept.forEach((candidacy, until) -> {
            if (now - until >= 0) {
                resign(candidacy::resign); // it should have: there was no memory for a timer
            }
        });
        candidacies.values().forEach(LoopCandidacy::check);
        for (var roster : rosters.values()) {
            try {
                roster.check();
            } catch (RuntimeException | Error e) { // the others go on
                Quietly.run(() -> log.error("a turn of {} failed", roster, e));
            }
        }
        closeLoop();
    }

    /** What locks need of us. */
    private final class Locking implements LockHost {
        @Override
        public void taskBegins() {
            lockTasks.set(lockTasks.get() + 1);
        }

        @Override
        public void taskEnded() {
            var left = lockTasks.get() - 1;
            if (left == 0) {
                lockTasks.remove();
            } else {
                lockTasks.set(left);
            }
        }

        @Override
        public Candidacy stand(
                String election, CandidacyConfig config, Runnable onInterrupt, BooleanSupplier works, Runnable onEnd) {
            return LoopElections.this.stand(
                    election, config, new LockMetrics(metrics), onInterrupt, Optional.of(works), onEnd);
        }

        @Override
        public boolean isVacant(Candidacy candidacy) {
            return candidacy instanceof LoopCandidacy ours && ours.seesVacantSeat();
        }

        @Override
        public void keep(Candidacy candidacy, Duration time) {
            var until = loop.clock().nanos() + Math.min(TimeUnit.NANOSECONDS.convert(time), LONGEST_KEPT_NANOS);
            kept.put(candidacy, until);
            if (!candidacies.containsValue(candidacy)) { // it has ended meanwhile
                kept.remove(candidacy);
            }
            loop.execute(() -> loop.at(until, candidacy::resign)); // to the point; what is lost is found by looking
        }

        @Override
        public Duration requestTimeout() {
            return config.requestTimeout();
        }

        @Override
        public Clock clock() {
            return loop.clock();
        }

        @Override
        public String describe() {
            return arbiter.describe();
        }
    }

    /** Names the threads of listeners and tasks. */
    private static final class WorkThreads implements ThreadFactory {
        private static final AtomicLong SERIAL = new AtomicLong();

        @Override
        public Thread newThread(Runnable work) {
            var thread = new Thread(work, "bellwether-work-" + SERIAL.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        }
    }
}
