package dev.bellwether.testkit.sim;

import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.LeaseStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One simulated world: some processes, a store, a network between them, and what befalls them, all drawn from one seed.
 * Confined to the thread that runs it, and to those of its {@link SimThreads} while that waits.
 */
final class World {
    private static final int MOST_PROCESSES = 12;
    /** What one world in four each has, by its seed. */
    private static final Map<Long, Set<Fault>> BY_SEED =
            Map.of(0L, Set.of(Fault.STORE_CLOCK), 2L, Set.of(Fault.UNDECIDED));

    private final long seed;
    private final Simulation settings;
    private final Application application;
    private final SplittableRandom random;
    private final Agenda agenda = new Agenda();
    private final Trace trace;
    private final double driftBound;
    private final FaultProfile weather;
    private final Network network;
    private final Optional<MemoryRecordStore> records;
    private final StoreServer server;
    private final Invariants invariants;
    private final SimThreads crew;
    private final List<SimProcess> processes = new ArrayList<>();
    private int serial;
    private long stamps;
    private boolean closing;
    private @Nullable SimProcess turned;
    private @Nullable Found found;

    private record Found(
            String invariant, String detail, @Nullable Throwable cause) {}

    World(long seed, Simulation settings, boolean traced) {
        this.seed = seed;
        this.settings = settings;
        random = new SplittableRandom(seed);
        trace = new Trace(agenda, traced);
        driftBound = settings.driftBound(random);
        weather = new FaultProfile(
                settings.faults(), settings.lease(random), BY_SEED.getOrDefault(seed % 4, Set.of()), random);
        network = new Network(this);
        var storeClock = newClock();
        if (settings.records().filter(traits -> traits.sharesAmong(1)).isPresent()) {
            weather.leasesShare();
        }
        if (settings.isHandingOver() && seed % 2 == 0) {
            weather.unevenDelays();
        }
        records = settings.records().map(traits -> new MemoryRecordStore(storeClock, traits));
        server = new StoreServer(
                this,
                records.<LeaseStore>map(those -> LeaseStore.over(those, storeClock, this::stamp))
                        .orElseGet(() -> settings.store(storeClock)),
                storeClock,
                settings.pace(),
                new SplittableRandom(seed));
        invariants = new Invariants(this);
        crew = new SimThreads(this);
        application = settings.application();
    }

    /** Lives through it. Returns what was found to be wrong, if anything was. */
    @Nullable
    Violation run() {
        try {
            new WorldRun(this, settings).live();
        } catch (Throwable e) {
            violate(Violation.RUNS, String.valueOf(e), e);
        } finally {
            crew.close();
        }
        var wrong = found;
        return wrong == null
                ? null
                : new Violation(
                        seed,
                        wrong.invariant,
                        wrong.detail,
                        weather + ", drift bound " + driftBound,
                        trace.lines(),
                        trace.dropped(),
                        wrong.cause);
    }

    /**
     * Lets things happen until something is so, the time has come, or an invariant was broken. Returns whether it is
     * so.
     */
    boolean until(long time, BooleanSupplier condition) {
        while (found == null) {
            if (condition.getAsBoolean()) {
                return true;
            }
            if (!agenda.step(time)) {
                return condition.getAsBoolean();
            }
            invariants.look();
            crew.look();
            reap();
        }
        return false;
    }

    boolean isBroken() {
        return found != null;
    }

    /** Notes that something is not as it must be; only the first counts. */
    void violate(String invariant, String detail, @Nullable Throwable cause) {
        if (found == null) {
            found = new Found(invariant, detail, cause);
            trace.line("VIOLATION", invariant + ": " + detail);
            trace.end();
        }
    }

    // ---------------------------------------------------------------- processes

    void startProcess() {
        if (closing || processes.size() >= MOST_PROCESSES) {
            return;
        }
        var original = weather.has(Fault.CLONE) && !processes.isEmpty() && random.nextBoolean()
                ? processes.get(random.nextInt(processes.size()))
                : null;
        var process = new SimProcess(this, "p" + ++serial, newClock(), settings, original);
        processes.add(process);
        trace.line(process.name(), original == null ? "comes up" : "comes up as a copy of " + original.name());
        process.workers().spawn(() -> {
            try {
                application.start(process);
            } catch (Exception e) {
                violate("a process starts", process.name() + ": " + e, e);
            }
        });
    }

    void startProcessLater(long nanos) {
        agenda.in(nanos, this::startProcess);
    }

    void kill(SimProcess process) {
        trace.line(process.name(), "is gone");
        process.die();
        processes.remove(process);
        invariants.died(process);
    }

    /** Something ran in a process: perhaps its last candidacy has ended. */
    void turned(SimProcess process) {
        turned = process;
    }

    /**
     * Lets a process exit whose candidacies have all ended, and replaces it. Code that still runs has a lease to wind
     * up.
     */
    private void reap() {
        var process = turned;
        turned = null;
        if (process == null || process.isDead()) {
            return;
        }
        var stood = process.candidacies();
        if (stood.isEmpty() || !process.workers().areIdle() || !stood.stream().allMatch(ObservedCandidacy::isClosed)) {
            return;
        }
        if (process.workers().haveSpawned() && process.windsUp()) {
            agenda.in(weather.leaseNanos(), () -> turned(process));
            return;
        }
        for (var one : stood) {
            if (one.isToldAcquired()) {
                violate(
                        "events come paired and in order",
                        one + " ended and was never told that it leads no more",
                        null);
            }
            if (one.works()) {
                violate("a candidacy ends after its work", one + " ended while its work was running", null);
            }
        }
        if (!process.observes() && server.openWatches(process) > 0) {
            violate("nothing is left behind", process.name() + " has ended all candidacies and still watches", null);
        }
        process.closeElections();
        kill(process);
        startProcessLater(weather.isCalm() ? weather.delayNanos() : weather.outage(random));
    }

    /** From here on nobody comes up any more. */
    void closing() {
        closing = true;
    }

    private SimClock newClock() {
        var spread = 0.4 * driftBound; // any two rates then differ by less than the bound
        var offset = random.nextInt(4) == 0 ? Long.MAX_VALUE - random.nextLong(1_000_000_000_000L) : random.nextLong();
        var skew =
                (long) (random.nextDouble() < 0.5 ? random.nextDouble(-1, 1) * 1e10 : random.nextDouble(-1, 1) * 1e17);
        return new SimClock(
                agenda,
                1 + random.nextDouble(-spread, spread),
                offset,
                1 + random.nextDouble(-spread, spread),
                1_700_000_000_000_000_000L + skew);
    }

    // ---------------------------------------------------------------- its parts

    List<SimProcess> processes() {
        return processes;
    }

    SplittableRandom random() {
        return random;
    }

    Agenda agenda() {
        return agenda;
    }

    Trace trace() {
        return trace;
    }

    double driftBound() {
        return driftBound;
    }

    FaultProfile weather() {
        return weather;
    }

    Network network() {
        return network;
    }

    /** Returns what the store's records lie in, if it has no leases of its own. */
    Optional<MemoryRecordStore> records() {
        return records;
    }

    /** Returns a text that nobody else is given. */
    String stamp() {
        return "stamp" + ++stamps;
    }

    StoreServer server() {
        return server;
    }

    Invariants invariants() {
        return invariants;
    }

    SimThreads crew() {
        return crew;
    }
}
