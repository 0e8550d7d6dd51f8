package dev.bellwether.testkit.sim;

import dev.bellwether.Watch;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;

/** The store's side: the real store under a clock of its own, which may pause, or be gone for a while. */
final class StoreServer {
    private final World world;
    private final LeaseStore store;
    private final SimClock clock;
    private final long paceNanos;
    private final List<Runnable> waiting = new ArrayList<>();
    private final Map<SimProcess, Set<Watch>> watches = new HashMap<>();
    private final Map<String, Integer> ends = new HashMap<>();
    private final Set<String> ordered = new HashSet<>();
    private final Set<String> ready = new HashSet<>();
    private final SplittableRandom chance;
    private final Map<String, View> undecided = new HashMap<>(); // as who reads sees them
    private final List<Runnable> kept = new ArrayList<>(); // from writing, until that is decided
    private long decidedFrom;
    private long busyUntil;
    private long pausedUntil;
    private long downUntil;
    private long setBackNanos;

    StoreServer(World world, LeaseStore store, SimClock clock, Duration pace, SplittableRandom chance) {
        this.chance = chance;
        paceNanos = pace.toNanos();
        this.world = world;
        this.store = store;
        this.clock = clock;
    }

    /** A request arrives. */
    void receive(String what, Runnable request) {
        var now = world.agenda().now();
        if (now < downUntil) {
            world.trace().line("store", "is down: " + what + " is lost");
        } else if (now < pausedUntil || !waiting.isEmpty()) {
            waiting.add(request);
        } else if (paceNanos > 0) {
            busyUntil = Math.max(busyUntil, now) + paceNanos;
            world.agenda().at(busyUntil, request);
        } else {
            request.run();
        }
    }

    void pause(long nanos) {
        pausedUntil = Math.max(pausedUntil, world.agenda().now() + nanos);
        world.agenda().at(pausedUntil, this::resume);
    }

    void resume() {
        if (world.agenda().now() >= pausedUntil) {
            var due = List.copyOf(waiting);
            waiting.clear();
            due.forEach(Runnable::run);
        }
    }

    void crash(long nanos, boolean forgetsWatches) {
        downUntil = Math.max(downUntil, world.agenda().now() + nanos);
        waiting.clear();
        if (forgetsWatches) {
            watches.values().forEach(open -> open.forEach(Watch::close));
            watches.clear();
        }
    }

    void setClockBack(long nanos) {
        clock.setBack(nanos);
        setBackNanos += nanos;
    }

    /** By so much its clock was set back in all: so much longer a lease may last. */
    long setBackNanos() {
        return setBackNanos;
    }

    /** Whatever was wrong is over. */
    void recover() {
        downUntil = 0;
        pausedUntil = 0;
        decidedFrom = 0;
        resume();
        decide();
    }

    /** Carries out an order, and remembers it. */
    boolean carryOut(String election, Order order) {
        if (order == Order.STAND_DOWN) {
            ordered.add(election + look(election).token());
        } else {
            ends.merge(election, 1, Integer::sum);
        }
        return store.order(election, order).toCompletableFuture().join();
    }

    /** Replaces a note, and remembers who was ready. */
    boolean note(String election, long token, String expected, String note) {
        noting(election, token, note);
        return store.note(election, token, expected, note).toCompletableFuture().join();
    }

    /** Remembers that somebody may lay this over the seat of this token. */
    void noting(String election, long token, String note) {
        if (HandOverNote.parse(note).filter(HandOverNote::isReady).isPresent()) {
            ready.add(election + token);
        }
    }

    /** Returns whether anybody was ever ready for the seat of this token. */
    boolean wasReady(String election, long token) {
        return ready.contains(election + token);
    }

    /** Returns how often an election was ended, deleted or reopened. */
    int ends(String election) {
        return ends.getOrDefault(election, 0);
    }

    /** Returns whether the leader of this token was ever ordered to stand down. */
    boolean wasOrdered(String election, long token) {
        return ordered.contains(election + token);
    }

    LeaseStore store() {
        return store;
    }

    /** A request to write arrives. */
    void receiveWrite(String what, Runnable request) {
        receive(what, () -> whenDecided(request));
    }

    /** Runs what writes when nothing is undecided: until then the store keeps others from it. */
    void whenDecided(Runnable write) {
        if (world.agenda().now() < decidedFrom) {
            kept.add(write);
        } else {
            write.run();
        }
    }

    private void decide() {
        if (world.agenda().now() >= decidedFrom) {
            undecided.clear();
            var due = List.copyOf(kept);
            kept.clear();
            due.forEach(this::whenDecided);
        }
    }

    /**
     * Returns whether a claim that would be granted is left undecided. Then it is shown for a while, and was never
     * carried out; nobody gets an answer to it.
     */
    boolean leavesUndecided(Claim claim) {
        if (!world.weather().has(Fault.UNDECIDED) || chance.nextInt(3) > 0) {
            return false;
        }
        var seat = look(claim.election());
        if (seat.holder().isPresent() || seat.ended()) {
            return false;
        }
        var nanos = world.weather().outage(chance);
        var holder = new View.Holder(
                claim.candidate(), claim.nonce(), Instant.ofEpochMilli(clock.wallMillis()), claim.metadata());
        undecided.put(
                claim.election(),
                View.of(claim.election(), claim.tokenAfter(seat.token()))
                        .heldBy(Optional.of(holder), claim.lease())
                        .inEra(seat.era(), false)
                        .among(seat.topPriority(), seat.candidates()));
        decidedFrom = world.agenda().now() + nanos;
        world.agenda().at(decidedFrom, this::decide);
        world.trace().line("store", "shows the claim of " + claim.candidate() + ", and will undo it");
        return true;
    }

    /** Reads the seat as who asks sees it. */
    View read(String election) {
        var shown = undecided.get(election);
        return shown == null ? look(election) : shown;
    }

    /** Reads the seat as it is, past all networks. */
    View look(String election) {
        return store.read(election).toCompletableFuture().join();
    }

    void watched(SimProcess process, Watch watch) {
        watches.computeIfAbsent(process, name -> new LinkedHashSet<>()).add(watch);
    }

    void unwatched(SimProcess process, Watch watch) {
        watch.close();
        var open = watches.get(process);
        if (open != null && open.remove(watch) && open.isEmpty()) {
            watches.remove(process);
        }
    }

    /** The connection of a process is gone. */
    void disconnected(SimProcess process) {
        var open = watches.remove(process);
        if (open != null) {
            open.forEach(Watch::close);
        }
    }

    int openWatches(SimProcess process) {
        return watches.getOrDefault(process, Set.of()).size();
    }
}
