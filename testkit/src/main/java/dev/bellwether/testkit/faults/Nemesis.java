package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Does to a bench what it draws from a seed: one fault of each kind that the ground has, in an order by chance, then again; up to two at a time, on leaders
 * twice as often as on others. Confined to one thread.
 */
public final class Nemesis {
    private static final int AT_ONCE = 2;
    private static final double LEADERS = 0.67;

    private final FaultBench bench;
    private final Random random;
    private final Deque<Fault> deck = new ArrayDeque<>();
    private final List<Running> running = new ArrayList<>();
    private int begun;

    private record Running(Fault fault, int number, long untilNanos, FaultBench.Undo undo) {
        boolean isOfServers() {
            return fault.victim() == Fault.Victim.SERVER
                    || fault.victim() == Fault.Victim.MORTAL_SERVER
                    || fault.victim() == Fault.Victim.LEADING_SERVER;
        }
    }

    /** Nothing is done yet. */
    public Nemesis(FaultBench bench, long seed) {
        this.bench = bench;
        random = new Random(seed);
    }

    /** Lets things go wrong for so long; when it returns, nothing is wrong any more. */
    public void run(Duration time) {
        var until = System.nanoTime() + time.toNanos();
        var next = System.nanoTime();
        while (System.nanoTime() - until < 0) {
            endThoseDue(System.nanoTime());
            if (running.size() < AT_ONCE && System.nanoTime() - next > 0) {
                begin();
                next = System.nanoTime() + ofLeases(0.1, 0.8).toNanos();
            }
            Eventually.throughout("a while", Duration.ofMillis(10), () -> true);
        }
        endThoseDue(Long.MAX_VALUE);
    }

    private void endThoseDue(long now) {
        for (var one : List.copyOf(running)) {
            if (now == Long.MAX_VALUE || one.untilNanos - now < 0) {
                one.undo.run();
                running.remove(one);
            }
        }
    }

    private void begin() {
        var fault = draw();
        var number = victim(fault);
        if (number.isEmpty()) {
            deck.addLast(fault); // later
            return;
        }
        var time = time(fault);
        running.add(new Running(
                fault,
                number.getAsInt(),
                System.nanoTime() + time.toNanos(),
                bench.begin(fault, number.getAsInt(), time)));
        begun++;
    }

    private Fault draw() {
        if (deck.isEmpty()) {
            var all =
                    Stream.of(Fault.values()).filter(this::isPossible).collect(Collectors.toCollection(ArrayList::new));
            Collections.shuffle(all, random);
            deck.addAll(all);
        }
        return deck.removeFirst();
    }

    private boolean isPossible(Fault fault) {
        var ground = bench.ground();
        return switch (fault.victim()) {
            case CANDIDATE, ALL -> true;
            case LINK -> !ground.links(0).isEmpty();
            case CLOCK -> bench.clocks().isPresent();
            case SERVER_CLOCK -> ground.servers().stream().anyMatch(Ground.Server::hasClock);
            case SERVER -> !ground.servers().isEmpty();
            case MORTAL_SERVER -> ground.servers().stream().anyMatch(Ground.Server::isMortal);
            case LEADING_SERVER -> ground.servers().size() > 1;
        };
    }

    /** Returns whom to do it to; empty if there is nobody just now. */
    private OptionalInt victim(Fault fault) {
        if (fault.hurtsOneCandidate()) {
            return candidate(fault);
        }
        if (fault.victim() == Fault.Victim.ALL) {
            return OptionalInt.of(0);
        }
        if (fault.victim() == Fault.Victim.SERVER_CLOCK) {
            return OptionalInt.of(random.nextInt(bench.ground().servers().size()));
        }
        if (running.stream().anyMatch(Running::isOfServers)) {
            return OptionalInt.empty(); // the others must be a majority
        }
        return OptionalInt.of(random.nextInt(bench.ground().servers().size()));
    }

    private OptionalInt candidate(Fault fault) {
        var chance = random.nextDouble();
        var free = IntStream.range(
                        0, fault == Fault.STEP_CLOCK ? 1 : bench.ground().places())
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

    private Duration time(Fault fault) {
        return switch (fault) {
            case FREEZE_BRIEFLY -> ofLeases(0.1, 0.5);
            case FREEZE -> ofLeases(1.2, 2.2);
            case CUT, CUT_REQUESTS, CUT_ANSWERS -> ofLeases(0.3, 2.2);
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
