package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Phase;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordKey;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.RequestLimiter.Urgency;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A few candidates of the real core and one store, in which somebody else chooses what happens next: which request is
 * carried out, which answer comes, whose timers run, who is held up. Made again for each history, which is the list of
 * the choices. Confined to one thread.
 */
final class ChosenWorld implements Chosen {
    /**
     * What is explored.
     *
     * @param situation where it begins
     * @param overRecords whether leases are made of records, or the store has leases and a clock of its own
     * @param faults how many steps from there may be other than what happens on a good day
     * @param deviations which of them
     * @param budget the stand-down budget: short, so that what is wrong by little shows; or long enough for work
     * @param works whether listeners may hang
     */
    record Setting(
            Situation situation,
            boolean overRecords,
            int candidates,
            int faults,
            Set<Deviation> deviations,
            Duration budget,
            boolean works) {}

    static final Duration LEASE = Duration.ofSeconds(4);
    static final double DRIFT_BOUND = 0.01;
    private static final String ELECTION = "bell";
    private static final long START = 1_000_000_000_000L;
    private static final long WALL_START_MILLIS = 1_700_000_000_000L;
    /** More than any situation takes to come about. */
    private static final int LONGEST_BEGINNING = 40;

    private static final String HALF = "half of the time until the next timer passes";
    /** Of a process, before its mandate: it protects nothing. */
    private static final long NONE = Long.MIN_VALUE;

    private final Setting setting;
    private final LeaseStore leases;
    private final MemoryRecordStore records;
    private final List<Member> processes = new ArrayList<>();
    private final List<Call<?>> calls = new ArrayList<>();
    private final List<String> begun = new ArrayList<>();
    private int faultsLeft;
    private long now;
    private boolean between; // two timers, so that answers come when nobody does anything
    private long order;
    private int stamps;
    private @Nullable Call<?> answering;
    private boolean ordered;
    private long highestToken;
    private int leader = -1;
    private int mandates;
    private @Nullable String violation;

    ChosenWorld(Setting setting) {
        this.setting = setting;
        faultsLeft = setting.faults;
        var storesClock = new RatedClock(1 + 0.4 * DRIFT_BOUND);
        records = new MemoryRecordStore(storesClock, RecordTraits.PLAIN);
        leases = setting.overRecords
                ? LeaseStore.over(records, storesClock, () -> "stamp" + ++stamps)
                : new MemoryLeaseStore(storesClock);
        for (var i = 0; i < setting.candidates; i++) {
            processes.add(new Member(i));
        }
        processes.forEach(Member::stand);
        look();
        if (setting.situation != Situation.BEGINNING) {
            begin();
        }
    }

    // ---------------------------------------------------------------- where it begins

    @Override
    public List<String> begun() {
        return begun;
    }

    private void begin() {
        var first = processes.get(0);
        while (setting.situation == Situation.CLAIMED ? first.isReading() : first.asks()) {
            first.isAnswered();
        }
        if (setting.situation == Situation.CLAIMED) {
            isCarriedOut(first.call());
        }
        for (var other : processes.subList(1, processes.size())) {
            while (other.asks()) {
                other.isAnswered();
            }
        }
        if (setting.situation == Situation.RENEWED || setting.situation == Situation.RENEWING) {
            while (!first.asks()) {
                timePasses();
            }
            if (setting.situation == Situation.RENEWING) {
                isCarriedOut(first.call());
                var next = nextTimer();
                begin(HALF, () -> passHalf(next));
            }
            while (first.asks()) {
                first.isAnswered();
            }
        } else if (setting.situation == Situation.REPLACED) {
            begin(first + " stands still", () -> first.still = true);
            var second = processes.get(1);
            while (!second.leads() && violation == null) {
                if (second.asks()) {
                    second.isAnswered();
                } else {
                    timePasses();
                }
            }
        }
        if (violation == null && !hasComeAbout()) {
            throw new IllegalStateException("\"" + setting.situation + "\" is not so after " + begun);
        }
    }

    private boolean hasComeAbout() {
        var first = processes.get(0);
        var second = processes.get(1);
        return switch (setting.situation) {
            case BEGINNING -> true;
            case LED, RENEWED -> first.leads() && !first.asks() && !second.asks();
            case CLAIMED -> !first.leads() && first.call().value != null && !second.asks();
            case RENEWING -> first.leads() && first.call().value != null && !second.asks();
            case REPLACED -> first.still && second.leads();
        };
    }

    private void isCarriedOut(Call<?> call) {
        begin("carried out: " + call, call::carryOut);
    }

    private void timePasses() {
        var next = nextTimer();
        begin("time passes", () -> pass(next));
    }

    private void begin(String name, Runnable step) {
        if (begun.size() == LONGEST_BEGINNING) {
            throw new IllegalStateException("\"" + setting.situation + "\" does not come about: " + begun);
        }
        begun.add(name);
        take(step);
    }

    // ---------------------------------------------------------------- what can happen

    @Override
    public List<Step> steps() {
        var steps = new ArrayList<Step>();
        for (var call : List.copyOf(calls)) {
            call.steps(steps);
        }
        var next = nextTimer();
        if (next != Long.MAX_VALUE) {
            steps.add(new Step(() -> "time passes", null, () -> pass(next)));
            if (!between && calls.stream().anyMatch(call -> !call.answered)) {
                steps.add(new Step(() -> HALF, Deviation.ANSWER, () -> passHalf(next)));
            }
        }
        for (var process : processes) {
            process.steps(steps);
        }
        if (!ordered && leader >= 0) {
            steps.add(new Step(() -> "an operator orders the leader to stand down", Deviation.END, () -> {
                ordered = true;
                leases.order(ELECTION, Order.STAND_DOWN).toCompletableFuture().join();
            }));
        }
        steps.removeIf(step -> step.isFault() && (faultsLeft == 0 || !setting.deviations.contains(step.deviation())));
        return steps;
    }

    @Override
    public void take(Step step) {
        faultsLeft -= step.isFault() ? 1 : 0;
        take(step.what());
    }

    private void take(Runnable step) {
        step.run();
        calls.removeIf(Call::isOver);
        look();
    }

    private long nextTimer() {
        var next = Long.MAX_VALUE;
        for (var process : processes) {
            for (var due : process.clock.stands ? List.<Due>of() : process.loop.timers) {
                var time = process.clock.trueNanos(due.nanos);
                next = time > now ? Math.min(next, time) : next;
            }
        }
        return next;
    }

    /** Lets half of the time until then pass, so that an answer comes when no timer is due. */
    private void passHalf(long next) {
        now += (next - now) / 2;
        between = true;
    }

    /** Lets time pass; all do what is due, but for those that stand still. */
    private void pass(long until) {
        now = until;
        between = false;
        for (var process : processes) {
            if (!process.still) {
                process.loop.runDue();
            }
        }
    }

    // ---------------------------------------------------------------- what must hold

    @Override
    public @Nullable String violation() {
        return violation;
    }

    @Override
    public int mandates() {
        return mandates;
    }

    private void look() {
        var found = -1;
        for (var process : processes) {
            if (process.look()) {
                if (found >= 0) {
                    violate("two lead at " + seconds(now) + ": " + processes.get(found) + " and " + process);
                }
                found = process.index;
            }
        }
        for (var process : processes) {
            if (found >= 0 && found != process.index && process.isProtected()) {
                violate(processes.get(found) + " leads at " + seconds(now) + " while the work of " + process
                        + " has not ended and its budget is not used up");
            }
        }
        leader = found;
    }

    private void violate(String what) {
        if (violation == null) {
            violation = what;
        }
    }

    private static String seconds(long nanos) {
        return nanos / 1e9 + " s";
    }

    // ---------------------------------------------------------------- for the fingerprint

    @Override
    public String state() {
        var text = new StateText();
        text.add(now, between, faultsLeft, ordered, highestToken, leader);
        text.graph(setting.overRecords ? records : leases);
        for (var process : processes) {
            text.add(process.token, process.over, process.protectedUntil, process.endNanos, process.resigned);
            text.add(process.hangs, process.kept.size(), process.throwsNext);
            text.add(process.still, process.clock.stands, process.clock.asleep, process.clock.sinceNanos);
            process.loop.timers.stream().sorted().forEach(due -> {
                text.add(due.nanos);
                text.graph(due.turn);
            });
            text.graph(process.elections);
            text.graph(process.candidacy);
        }
        for (var call : calls) {
            text.add(call.process.index, call.what, call.rootNanos, call.depth, call.again, call.answered);
            text.graph(call.value);
        }
        return text.toString();
    }

    // ---------------------------------------------------------------- processes

    /** True time, at another rate. */
    private final class RatedClock implements Clock {
        private final double rate;
        private long asleep; // for so long the monotonic clock stood still
        private boolean stands; // still, now
        private long sinceNanos; // since then

        private RatedClock(double rate) {
            this.rate = rate;
        }

        @Override
        public long nanos() {
            return START + (long) (((stands ? sinceNanos : now) - asleep) * rate);
        }

        @Override
        public long wallMillis() {
            return WALL_START_MILLIS + (long) (now * rate) / 1_000_000;
        }

        private long trueNanos(long nanos) {
            return asleep + (long) Math.ceil((nanos - START) / rate);
        }

        private void stop() {
            stands = true;
            sinceNanos = now;
        }

        private void runAgain() {
            if (stands) {
                stands = false;
                asleep += now - sinceNanos;
                sinceNanos = 0;
            }
        }
    }

    /** One candidate's process. */
    private final class Member {
        private final int index;
        private final RatedClock clock;
        private final HandLoop loop;
        private final Elections elections;
        private final ArrayDeque<Runnable> kept = new ArrayDeque<>();
        private @Nullable Candidacy candidacy;
        private boolean throwsNext;
        private boolean resigned;
        private boolean hangs;
        private boolean still; // until something runs in it
        private long token;
        private boolean over;
        private long endNanos = NONE; // by its own clock: when the lease of its last proof is over
        private long protectedUntil = NONE; // by its own clock: others do not lead before, if its work has not ended

        private Member(int index) {
            this.index = index;
            clock = new RatedClock(1 + DRIFT_BOUND * (index == 0 ? -0.45 : 0.45)); // the first to stand is slow
            loop = new HandLoop(clock);
            var executor = (Executor) work -> {
                if (hangs) {
                    kept.add(work);
                } else {
                    work.run();
                }
            };
            var store = setting.overRecords
                    ? LeaseStore.over(new Records(this), clock, () -> "stamp" + ++stamps)
                    : new Leases(this);
            elections = Elections.over(
                    store,
                    ElectionsConfig.builder().loop(loop).executor(executor).build());
        }

        private void stand() {
            candidacy = elections.stand(
                    ELECTION,
                    CandidacyConfig.builder()
                            .candidate("c" + index)
                            .lease(LEASE)
                            .renewInterval(Duration.ofSeconds(2))
                            .retryInterval(Duration.ofSeconds(2))
                            .standDownBudget(setting.budget)
                            .driftBound(DRIFT_BOUND)
                            .listener(event -> {})
                            .build());
            loop.runDue();
        }

        private void steps(List<Step> steps) {
            if (still || loop.isDue()) {
                steps.add(new Step(() -> this + " goes on", null, () -> {
                    wake();
                    loop.runDue();
                }));
            }
            if (still) {
                return; // nothing begins in it
            }
            steps.add(new Step(() -> this + " stands still", Deviation.STALL, () -> still = true));
            steps.add(new Step(() -> this + " is suspended", Deviation.STALL, () -> {
                still = true;
                clock.stop();
            }));
            if (!throwsNext) {
                steps.add(new Step(
                        () -> "the next call of " + this + " throws", Deviation.THROW, () -> throwsNext = true));
            }
            if (!resigned) {
                steps.add(new Step(() -> this + " resigns", Deviation.END, () -> {
                    resigned = true;
                    candidacy().resign();
                    loop.runInbox();
                }));
            }
            if (setting.works && !hangs) {
                steps.add(new Step(() -> "the work of " + this + " hangs", Deviation.END, () -> hangs = true));
            }
            if (hangs) {
                steps.add(new Step(() -> "the work of " + this + " ends", null, () -> {
                    hangs = false;
                    while (!kept.isEmpty()) {
                        kept.remove().run();
                    }
                    loop.runInbox();
                }));
            }
        }

        private void wake() {
            still = false;
            clock.runAgain();
        }

        /** Returns its first request that was not answered. */
        private Call<?> call() {
            return calls.stream()
                    .filter(call -> call.process == this && !call.answered)
                    .findFirst()
                    .orElseThrow();
        }

        private boolean asks() {
            return calls.stream().anyMatch(call -> call.process == this && !call.answered && call.value == null);
        }

        private boolean isReading() {
            return call().isReading();
        }

        private void isAnswered() {
            var call = call();
            begin("answered: " + call, () -> {
                call.carryOut();
                call.deliver();
            });
        }

        private boolean leads() {
            return candidacy().isLeader() || candidacy().mandate().isPresent();
        }

        private Candidacy candidacy() {
            var standing = candidacy;
            if (standing == null) {
                throw new IllegalStateException(this + " does not stand");
            }
            return standing;
        }

        /** Returns whether it leads; notes what it protects. */
        private boolean look() {
            var mandate = candidacy().mandate();
            var local = clock.nanos();
            if (mandate.isEmpty()) {
                if (token != 0 && !over) {
                    over = true;
                    var status = candidacy().status();
                    var inOrder = status.phase() == Phase.STANDING_DOWN;
                    protectedUntil = inOrder ? Math.min(endNanos, local + usable(setting.budget)) : endNanos;
                }
                return candidacy().isLeader();
            }
            if (mandate.get().token() != token) {
                token = mandate.get().token();
                over = false;
                mandates++;
                if (token <= highestToken) {
                    violate(this + " leads under token " + token + " after " + highestToken);
                }
                highestToken = token;
            } else if (over) {
                violate(this + " leads again under token " + token + ", which was over");
            }
            endNanos = local + mandate.get().remaining().toNanos() + setting.budget.toNanos();
            protectedUntil = endNanos;
            return true;
        }

        private boolean isProtected() {
            return over && !kept.isEmpty() && clock.nanos() < protectedUntil;
        }

        private static long usable(Duration budget) {
            return budget.toNanos() - (long) Math.ceil(budget.toNanos() * DRIFT_BOUND);
        }

        @Override
        public String toString() {
            return "c" + index;
        }
    }

    private record Due(long nanos, long order, Runnable turn) implements Comparable<Due> {
        @Override
        public int compareTo(Due other) {
            return nanos == other.nanos ? Long.compare(order, other.order) : Long.compare(nanos, other.nanos);
        }
    }

    /** Turns that run when they are told to. */
    private final class HandLoop implements Loop {
        private final RatedClock clock;
        private final ArrayDeque<Runnable> inbox = new ArrayDeque<>();
        private final PriorityQueue<Due> timers = new PriorityQueue<>();
        private final List<Runnable> sweeps = new ArrayList<>();
        private boolean runs;

        private HandLoop(RatedClock clock) {
            this.clock = clock;
        }

        @Override
        public Clock clock() {
            return clock;
        }

        @Override
        public RandomGenerator random() {
            return () -> 1L << 63; // half of everything
        }

        @Override
        public void execute(Runnable turn) {
            inbox.add(turn);
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            var due = new Due(nanos, order++, turn);
            timers.add(due);
            return () -> timers.remove(due);
        }

        @Override
        public Timer every(long nanos, Runnable turn) {
            sweeps.add(turn);
            return () -> sweeps.remove(turn);
        }

        private boolean isDue() {
            var due = timers.peek();
            return due != null && due.nanos - clock.nanos() <= 0;
        }

        private void runInbox() {
            if (runs) {
                return; // a turn of ours is under way, and will come to it
            }
            runs = true;
            for (var turn = inbox.poll(); turn != null; turn = inbox.poll()) {
                run(turn);
            }
            runs = false;
        }

        private void runDue() {
            runInbox();
            while (isDue()) {
                run(timers.remove().turn);
                runInbox();
            }
            List.copyOf(sweeps).forEach(HandLoop::run);
            runInbox();
        }

        /** As the loop of core does, it goes on whatever a turn throws. */
        private static void run(Runnable turn) {
            try {
                turn.run();
            } catch (RuntimeException e) {
                // the turn is over
            }
        }

        @Override
        public void close() {
            inbox.clear();
            timers.clear();
        }
    }

    // ---------------------------------------------------------------- requests

    private <T> CompletableFuture<T> call(Member process, String what, Supplier<CompletionStage<T>> request) {
        if (process.throwsNext) {
            process.throwsNext = false;
            throw new IllegalStateException("thrown by the store");
        }
        var call = new Call<T>(process, what, request, answering);
        calls.add(call);
        return call.answer;
    }

    /** A request under way. */
    private final class Call<T> {
        private final Member process;
        private final String what;
        private final Supplier<CompletionStage<T>> request;
        private final CompletableFuture<T> answer = new CompletableFuture<>();
        /** When the chain of requests began that this is of, and how many there were before. */
        private final long rootNanos;

        private final int depth;
        private @Nullable T value;
        private boolean answered;
        private boolean again;

        private Call(Member process, String what, Supplier<CompletionStage<T>> request, @Nullable Call<?> before) {
            this.process = process;
            this.what = what;
            this.request = request;
            rootNanos = before == null ? now : before.rootNanos;
            depth = before == null ? 0 : before.depth + 1;
        }

        private void steps(List<Step> steps) {
            if (value == null && !answered) {
                steps.add(new Step(() -> this + " is carried out and answered", null, () -> {
                    carryOut();
                    deliver();
                }));
                steps.add(new Step(
                        () -> this + " is carried out, and its answer waits",
                        process.still ? null : Deviation.ANSWER,
                        this::carryOut));
            } else if (value == null) {
                steps.add(new Step(() -> this + " is carried out late", null, this::carryOut));
            } else {
                if (!answered) {
                    steps.add(new Step(() -> this + " is answered late", null, this::deliver));
                }
                if (!again) {
                    steps.add(new Step(() -> this + " is carried out once more", Deviation.DOUBLE, () -> {
                        again = true;
                        request.get().toCompletableFuture().join();
                    }));
                }
            }
            if (!answered) {
                steps.add(new Step(() -> this + " fails, carried out or not", Deviation.ANSWER, () -> {
                    answered = true;
                    answering(() -> answer.completeExceptionally(new UnavailableException("no answer")));
                }));
            }
        }

        private void carryOut() {
            value = request.get().toCompletableFuture().join();
        }

        private void deliver() {
            answered = true;
            answering(() -> answer.complete(value));
        }

        private void answering(Runnable what) {
            answering = this;
            process.wake();
            what.run();
            process.loop.runInbox();
            answering = null;
        }

        /** Whatever writes may yet be carried out once more, which is a fault. */
        private boolean isOver() {
            var mayBeDoubled = !again && faultsLeft > 0 && setting.deviations.contains(Deviation.DOUBLE);
            return answered && value != null && (!mayBeDoubled || isReading());
        }

        private boolean isReading() {
            return what.startsWith("read");
        }

        @Override
        public String toString() {
            return process + "'s " + what;
        }
    }

    /** The store's leases, as one process reaches them. */
    private final class Leases implements LeaseStore {
        private final Member process;

        private Leases(Member process) {
            this.process = process;
        }

        @Override
        public String describe() {
            return "chosen";
        }

        @Override
        public CompletionStage<Answer> acquire(Claim claim) {
            return call(process, "claim " + claim.nonce(), () -> leases.acquire(claim));
        }

        @Override
        public List<CompletionStage<Answer>> renew(List<Lease> due) {
            return due.stream()
                    .<CompletionStage<Answer>>map(lease -> call(
                            process,
                            "renewal of " + lease.token() + " for " + lease.term(),
                            () -> leases.renew(List.of(lease)).get(0)))
                    .toList();
        }

        @Override
        public CompletionStage<Answer> release(Claim claim) {
            return call(process, "release " + claim.nonce(), () -> leases.release(claim));
        }

        @Override
        public CompletionStage<View> read(String election) {
            return call(process, "read", () -> leases.read(election));
        }

        @Override
        public Watch watch(String election, Consumer<View> watcher) {
            return Watch.NONE; // a hint, and so needless
        }

        @Override
        public CompletionStage<Boolean> order(String election, Order order) {
            return leases.order(election, order);
        }

        @Override
        public CompletionStage<List<String>> list() {
            return leases.list();
        }

        @Override
        public void close() {}
    }

    /** The store's records, as one process reaches them. */
    private final class Records implements RecordStore {
        private final Member process;

        private Records(Member process) {
            this.process = process;
        }

        @Override
        public String describe() {
            return "chosen";
        }

        @Override
        public RecordTraits traits() {
            return records.traits();
        }

        @Override
        public CompletionStage<Found> read(RecordKey key, Urgency urgency, Duration timeout) {
            return call(process, "read", () -> records.read(key, urgency, timeout));
        }

        @Override
        public CompletionStage<Written> write(
                RecordKey key, long expected, Draft draft, Urgency urgency, Duration timeout) {
            return call(
                    process,
                    "write over " + expected + ": " + draft.text(),
                    () -> records.write(key, expected, draft, urgency, timeout));
        }

        @Override
        public CompletionStage<?> remove(RecordKey key, Duration timeout) {
            return records.remove(key, timeout);
        }

        @Override
        public CompletionStage<Listing> list(List<String> beginning, int parts, Duration timeout) {
            return records.list(beginning, parts, timeout);
        }

        @Override
        public CompletionStage<Long> reached(RecordKey key, Duration timeout) {
            return call(process, "reading of the highest revision", () -> records.reached(key, timeout));
        }

        @Override
        public void close() {}
    }
}
