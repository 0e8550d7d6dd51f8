package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Does to a bench what it draws from a seed: one fault of each kind that the environment has, in an order by chance,
 * then again; up to three at a time, on leaders twice as often as on others, and one candidate is always left alone.
 * Confined to one thread; servers are started again by another, since that takes a while.
 */
public final class Nemesis {
    private static final int AT_ONCE = 3;
    private static final int DECKS = 2;
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    /** libfaketime looks once a second whether its clock is to step. */
    private static final Duration LEAST_STEP = Duration.ofSeconds(2);

    private static final double LEADERS = 0.67;
    /** The names of those that there are to be; all if there are none. */
    private static final Set<String> ONLY = Arrays.stream(
                    System.getProperty("bellwether.bench.faults", "").split(",", -1))
            .filter(name -> !name.isBlank())
            .map(name -> BenchFault.valueOf(name).name())
            .collect(Collectors.toSet());

    private final FaultBench bench;
    private final Duration patience;
    private final Random random;
    private final Deque<BenchFault> deck = new ArrayDeque<>();
    private final List<Running> running = new ArrayList<>();
    private int begun;

    private static final class Running {
        private final BenchFault fault;
        private final int number;
        private final long untilNanos;
        private final FaultBench.Undo undo;
        private final Duration patience;
        private @Nullable CompletableFuture<Void> restart;

        private Running(BenchFault fault, int number, long untilNanos, FaultBench.Undo undo, Duration patience) {
            this.fault = fault;
            this.number = number;
            this.untilNanos = untilNanos;
            this.undo = undo;
            this.patience = patience;
        }

        /** Ends it if that is due, and returns whether it is over. */
        boolean isOver(long now) {
            var started = restart;
            if (started != null) {
                if (started.isDone()) {
                    started.join(); // tells if it failed
                }
                return started.isDone();
            }
            if (untilNanos - now > 0) {
                return false;
            }
            if (!undo.isReady() && System.nanoTime() - untilNanos < patience.toNanos()) {
                return false;
            }
            if (fault.restartsServer()) {
                restart = FaultActions.inBackground("bellwether-start-server", undo::run);
                return false;
            }
            undo.run();
            return true;
        }

        /**
         * Returns whether another should have led by now and has not. Until one does, nobody else is hurt: else nobody
         * might get the chance.
         */
        boolean stillWaitsForAnother() {
            return fault.waitsForAnother() && System.nanoTime() - untilNanos > 0 && !undo.isReady();
        }

        boolean isOfServers() {
            return fault.victim() == BenchFault.Victim.SERVER
                    || fault.victim() == BenchFault.Victim.MORTAL_SERVER
                    || fault.victim() == BenchFault.Victim.LEADING_SERVER;
        }
    }

    /** Nothing is done yet. */
    public Nemesis(FaultBench bench, long seed) {
        this(bench, seed, PATIENCE);
    }

    Nemesis(FaultBench bench, long seed, Duration patience) {
        this.bench = bench;
        this.patience = patience;
        random = new Random(seed);
    }

    /**
     * Lets things go wrong for so long; when it returns, nothing is wrong any more. Nothing begins that would have to
     * end before its time.
     */
    public void run(Duration time) {
        var until = System.nanoTime() + time.toNanos();
        var next = System.nanoTime();
        while (System.nanoTime() - until < 0) {
            endThoseDue(System.nanoTime());
            if (running.size() < AT_ONCE
                    && System.nanoTime() - next > 0
                    && running.stream().noneMatch(Running::stillWaitsForAnother)
                    && begin(until)) {
                next = System.nanoTime() + ofLeases(0.1, 0.6).toNanos();
            }
            Eventually.throughout("a while", Duration.ofMillis(10), () -> true);
        }
        while (!running.isEmpty()) {
            endThoseDue(System.nanoTime());
            Eventually.throughout("a while", Duration.ofMillis(10), () -> true);
        }
    }

    private void endThoseDue(long now) {
        running.removeIf(one -> one.isOver(now));
    }

    /**
     * Begins the next of the deck for which there are a victim at the moment and enough time; of a new deck beside it,
     * if there is none. Returns whether there was one.
     */
    private boolean begin(long untilNanos) {
        if (deck.isEmpty()) {
            shuffle();
        }
        if (beginOneOfDeck(untilNanos)) {
            return true;
        }
        if (deck.size() < DECKS * BenchFault.values().length) {
            shuffle();
            return beginOneOfDeck(untilNanos);
        }
        return false;
    }

    private boolean beginOneOfDeck(long untilNanos) {
        for (var left = deck.size(); left > 0; left--) {
            var fault = deck.removeFirst();
            var time = time(fault);
            if (System.nanoTime() + time.toNanos() - untilNanos < 0) {
                var number = victim(fault);
                if (number.isPresent()) {
                    begin(fault, number.getAsInt(), time);
                    return true;
                }
            }
            deck.addLast(fault); // later
        }
        return false;
    }

    /** Begins this, whatever else is going on. */
    void begin(BenchFault fault, int number, Duration time) {
        running.add(new Running(
                fault, number, System.nanoTime() + time.toNanos(), bench.begin(fault, number, time), patience));
        begun++;
    }

    /** Adds one of each kind that there can be here, in an order by chance. */
    private void shuffle() {
        var all = Stream.of(BenchFault.values())
                .filter(fault -> ONLY.isEmpty() || ONLY.contains(fault.name()))
                .filter(this::isPossible)
                .collect(Collectors.toCollection(ArrayList::new));
        Collections.shuffle(all, random);
        deck.addAll(all);
    }

    private boolean isPossible(BenchFault fault) {
        var environment = bench.environment();
        return switch (fault.victim()) {
            case CANDIDATE ->
                !fault.waitsForAnother()
                        || (environment.places() > 1
                                && (fault == BenchFault.ORDERS_TO_DEAD || !environment.frozenMayBlockAll()));
            case OURS -> bench.isOurs();
            case ALL -> true;
            case LINK ->
                !environment.links(0).isEmpty() && (fault != BenchFault.VANISH || !environment.vanishedMayBlockAll());
            case ONE_LINK -> environment.links(0).size() > 1;
            case CLOCK -> bench.clocks().isPresent();
            case SERVER_CLOCK -> environment.servers().stream().anyMatch(BenchEnvironment.Server::hasClock);
            case SERVER -> !environment.servers().isEmpty();
            case MORTAL_SERVER -> environment.servers().stream().anyMatch(BenchEnvironment.Server::isMortal);
            case LEADING_SERVER -> environment.servers().size() > 1;
            case RECORDS -> environment.records().isPresent();
        };
    }

    /** Returns the candidate to do it to; empty if there is none at the moment. */
    private OptionalInt victim(BenchFault fault) {
        if (running.stream().anyMatch(one -> one.fault.excludes(fault))) {
            return OptionalInt.empty();
        }
        if (fault.hurtsOneCandidate()) {
            var hurt = running.stream()
                    .filter(one -> one.fault.hurtsOneCandidate())
                    .count();
            return hurt < Math.max(1, bench.environment().places() - 1) ? candidate(fault) : OptionalInt.empty();
        }
        if (fault.victim() == BenchFault.Victim.ALL || fault.hurtsRecords()) {
            return OptionalInt.of(0);
        }
        if (fault.victim() == BenchFault.Victim.SERVER_CLOCK) {
            return OptionalInt.of(random.nextInt(bench.environment().servers().size()));
        }
        if (running.stream().anyMatch(Running::isOfServers)) {
            return OptionalInt.empty(); // the others must be a majority
        }
        return OptionalInt.of(random.nextInt(bench.environment().servers().size()));
    }

    private OptionalInt candidate(BenchFault fault) {
        var chance = random.nextDouble();
        var free = IntStream.range(
                        0,
                        fault == BenchFault.STEP_CLOCK ? 1 : bench.environment().places())
                .filter(bench::isStanding)
                .filter(place ->
                        running.stream().noneMatch(one -> one.fault.hurtsOneCandidate() && one.number == place))
                .boxed()
                .toList();
        if (free.isEmpty()) {
            return OptionalInt.empty();
        }
        var leader = bench.leader();
        return leader.isPresent() && free.contains(leader.getAsInt()) && chance < LEADERS
                ? leader
                : OptionalInt.of(free.get((int) (chance * 1_000) % free.size()));
    }

    private Duration time(BenchFault fault) {
        return switch (fault) {
            case FREEZE_BRIEFLY -> ofLeases(0.1, 0.5);
            case FREEZE, ORDERS_TO_DEAD, ORDERS_TO_FROZEN -> ofLeases(1.2, 2.2);
            case CUT, CUT_REQUESTS, CUT_ANSWERS, CUT_ONE_SERVER, CUT_ONE_CONNECTION -> ofLeases(0.3, 2.2);
            case STEP_CLOCK -> {
                var time = ofLeases(0.4, 1.6);
                yield time.compareTo(LEAST_STEP) < 0 ? LEAST_STEP : time;
            }
            default -> ofLeases(0.4, 1.6);
        };
    }

    private Duration ofLeases(double from, double to) {
        return Duration.ofNanos((long) (bench.lease().toNanos() * (from + (to - from) * random.nextDouble())));
    }

    /** Returns how many faults there were. */
    public int begun() {
        return begun;
    }
}
