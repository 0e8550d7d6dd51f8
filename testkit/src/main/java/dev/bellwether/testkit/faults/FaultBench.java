package dev.bellwether.testkit.faults;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Candidates in processes of their own, and what is done to them. Confined to one thread.
 *
 * <p>Start them, {@link #begin} what is to go wrong and let it end, or have a {@link Nemesis} do so; then {@link #end},
 * and look at the {@link Findings}.
 */
public final class FaultBench implements AutoCloseable {
    /** How long anybody who must lead may take on a machine that is busy with other things. */
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final long SEEN_NANOS = Duration.ofMillis(100).toNanos();

    /** No two candidates live in the same time zone. */
    private static final List<String> TIME_ZONES =
            List.of("Europe/Berlin", "UTC", "Asia/Kolkata", "America/New_York", "Pacific/Auckland", "Pacific/Niue");

    private static final int MOST_TIMES = 3;

    private static final List<String> NAMES = List.of("ann", "bob", "cyd", "dee", "eve", "fay");

    private final BenchEnvironment environment;
    private final Setting setting;
    private final String election = "bench-" + UUID.randomUUID();
    private final Register register = new Register();
    private final Chronicle chronicle;
    private final List<Place> places = new ArrayList<>();
    private final List<ContestantProcess> processes = new ArrayList<>();
    private final List<Chronicle.Deed> deeds = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();
    private final FaultActions actions;
    private int leavesCutOff;

    /**
     * What a bench is set up with.
     *
     * @param maker of the contestants
     * @param folder for the history, and what the processes print; its files are deleted first
     * @param libfaketime the library that lets the wall clock of the first candidate step, if it is to
     */
    public record Setting(
            Class<? extends Contestant.Maker> maker, Duration lease, Path folder, Optional<String> libfaketime) {

        /** Bellwether's own, without steps of clocks, and with the history in a folder of the build. */
        public static Setting of(String name, Duration lease) {
            return new Setting(BellwetherContestant.class, lease, Path.of("target", "faults", name), Optional.empty());
        }

        /** Returns the same with other contestants. */
        public Setting with(Class<? extends Contestant.Maker> others) {
            return new Setting(others, lease, folder, libfaketime);
        }

        /** Returns the same with steps of a clock. */
        public Setting withSteps(String library) {
            return new Setting(maker, lease, folder, Optional.of(library));
        }
    }

    /** Ends what was begun. */
    public interface Undo {
        /** Ends it; takes as long as that takes. */
        void run();

        /** Returns whether it has done its work, so that ending it waits for nothing but a server that starts. */
        default boolean isReady() {
            return true;
        }
    }

    /** A candidate, one process after the other. */
    private static final class Place {
        private @Nullable ContestantProcess process;
    }

    /**
     * Starts all, lets things go wrong as drawn from a seed, prints what was found, and complains of what must never
     * be. It runs for {@code -Dbellwether.bench.seconds}, 10 by default, by the seed {@code -Dbellwether.bench.seed},
     * by default one for each day, and {@code -Dbellwether.bench.runs} times, each time with new candidates by the
     * next seed. What each run has found is added, as a line, to the file {@code -Dbellwether.bench.ledger}, if one is
     * named. Of the faults there are only those that {@code -Dbellwether.bench.faults=CUT,FREEZE} names, if it does.
     * The processes look every {@code -Dbellwether.bench.pause} microseconds whether they lead, 100 by default,
     * which takes a tenth of a processor for each.
     *
     * <p>A run that did little has shown nothing. So a run goes on until it has done the
     * {@linkplain BenchEnvironment#atLeast least} that its time asks for, for three times its time at most.
     *
     * @return what the run by the first seed has found, which is the last to run
     * @throws AssertionError if two led at once, or what else must never be; or if there were fewer faults or terms
     *     than the least
     */
    public static Findings run(BenchEnvironment environment, Setting setting) {
        var time = Duration.ofSeconds(Integer.getInteger("bellwether.bench.seconds", 10));
        var seed = Long.getLong(
                "bellwether.bench.seed", LocalDate.now(ZoneOffset.UTC).toEpochDay());
        var runs = Integer.getInteger("bellwether.bench.runs", 1);
        for (var i = 1; i < runs; i++) {
            run(environment, setting, time, seed + i);
        }
        return run(environment, setting, time, seed);
    }

    static Findings run(BenchEnvironment environment, Setting setting, Duration time, long seed) {
        var least = environment.atLeast().in(time);
        try (var bench = new FaultBench(environment, setting)) {
            bench.chronicle.note("seed " + seed);
            bench.startAll();
            var nemesis = new Nemesis(bench, seed);
            nemesis.run(time);
            var times = 1;
            while (times < MOST_TIMES
                    && !least.isReached(nemesis.begun(), bench.terms().size())) {
                bench.chronicle.note("too little has happened: on it goes");
                nemesis.run(time);
                times++;
            }
            var whole = time.multipliedBy(times);
            var findings = bench.end();
            System.out.println("seed " + seed + ", " + findings);
            Optional.ofNullable(System.getProperty("bellwether.bench.ledger"))
                    .ifPresent(ledger ->
                            findings.addTo(Path.of(ledger), String.valueOf(setting.folder.getFileName()), seed, whole));
            return findings.requireSafe().requireAtLeast(least);
        }
    }

    /** Nobody stands yet. The environment is the caller's to close. */
    public FaultBench(BenchEnvironment environment, Setting setting) {
        this.environment = environment;
        this.setting = setting;
        chronicle = new Chronicle(setting.folder);
        actions = new FaultActions(environment, setting, election, chronicle::note);
        chronicle.note("on " + environment.describe() + ", lease " + setting.lease + ", election " + election);
        for (var i = 0; i < environment.places(); i++) {
            places.add(new Place());
        }
    }

    BenchEnvironment environment() {
        return environment;
    }

    Duration lease() {
        return setting.lease;
    }

    /** Returns whether it is of Bellwether's own candidates. To others an interrupt may mean that they are to end. */
    boolean isOurs() {
        return setting.maker.equals(BellwetherContestant.class);
    }

    Optional<String> clocks() {
        return setting.libfaketime.filter(library -> environment.clocksMayStep());
    }

    /** Starts a candidate at each place, and returns when all stand and one leads. */
    public void startAll() {
        for (var i = 0; i < places.size(); i++) {
            start(i);
        }
        processes.forEach(ContestantProcess::awaitStanding);
        awaitLeader();
    }

    /** Starts a candidate at this place, counted from 0; returns before it stands. */
    public void start(int place) {
        var number = processes.size() + 1;
        var name = NAMES.get(place);
        var process = new ContestantProcess(
                new ContestantMain.Arguments(
                        setting.maker.getName(),
                        environment.uri(place),
                        election,
                        name,
                        setting.lease,
                        setting.folder.toAbsolutePath().resolve(name + "-" + number + ".terms"),
                        number,
                        register.port()),
                environment(place),
                chronicle::note);
        chronicle.note(process + " starts, process id " + process.pid());
        processes.add(process);
        places.get(place).process = process;
    }

    private Map<String, String> environment(int place) {
        var environment =
                new HashMap<>(place == 0 ? clocks().map(actions::steppedClock).orElse(Map.of()) : Map.of());
        environment.put("TZ", TIME_ZONES.get(place % TIME_ZONES.size()));
        return environment;
    }

    private ContestantProcess at(int place) {
        var process = places.get(place).process;
        if (process == null) {
            throw new IllegalStateException("nobody was started at place " + place);
        }
        return process;
    }

    /** Returns whether the candidate at this place stands. */
    public boolean isStanding(int place) {
        var process = places.get(place).process;
        return process != null && process.isStanding();
    }

    /** Returns the place of the candidate that was last seen to begin to lead, if it has not ended since. */
    public OptionalInt leader() {
        return IntStream.range(0, places.size())
                .filter(this::isStanding)
                .filter(place -> last(place).filter(term -> !term.over()).isPresent())
                .boxed()
                .max(Comparator.comparing(place -> last(place).orElseThrow().firstNanos()))
                .map(OptionalInt::of)
                .orElse(OptionalInt.empty());
    }

    /** Returns whether somebody was seen to lead a moment ago. One that hardly runs may have lost the seat, unseen. */
    private boolean isLed() {
        var recent = Math.max(SEEN_NANOS, setting.lease.dividedBy(10).toNanos());
        return leader().stream()
                .mapToObj(place -> last(place).orElseThrow())
                .anyMatch(term -> System.nanoTime() - term.lastNanos() < recent);
    }

    private Optional<ObservedTerm> last(int place) {
        var terms = at(place).terms();
        return terms.isEmpty() ? Optional.empty() : Optional.of(terms.get(terms.size() - 1));
    }

    /** Waits until every candidate stands whose process was started and runs. */
    public void awaitAll() {
        processes.stream().filter(ContestantProcess::isAlive).forEach(ContestantProcess::awaitStanding);
    }

    /** Waits until somebody leads at an instant from now on, and returns its place. */
    public int awaitLeader() {
        return awaitLeader(PATIENCE);
    }

    private int awaitLeader(Duration patience) {
        var since = System.nanoTime();
        return Eventually.eventually("somebody leads: see " + chronicle.file(), patience, () -> {
            var leader = leader();
            return leader.isPresent() && last(leader.getAsInt()).orElseThrow().lastNanos() - since > 0
                    ? Optional.of(leader.getAsInt())
                    : Optional.empty();
        });
    }

    /** Waits until the leader is another than this one. */
    public int awaitLeaderOtherThan(int place) {
        return Eventually.eventually("another leads: see " + chronicle.file(), PATIENCE, () -> {
            for (var i = 0; i < places.size(); i++) {
                if (i != place
                        && isStanding(i)
                        && last(i).filter(term -> !term.over()).isPresent()) {
                    return Optional.of(i);
                }
            }
            return Optional.empty();
        });
    }

    /** Waits until this candidate has been seen to lead at an instant from now on. */
    public void awaitLeads(int place) {
        var since = System.nanoTime();
        Eventually.eventually(
                NAMES.get(place) + " leads: see " + chronicle.file(),
                PATIENCE,
                () -> last(place).filter(term -> term.lastNanos() - since > 0).isPresent());
    }

    /** Returns whether this candidate leads no more, for which it has so long. */
    public boolean leadsNoMore(int place, Duration patience) {
        var until = System.nanoTime() + patience.toNanos();
        while (last(place).filter(term -> !term.over()).isPresent()) {
            if (System.nanoTime() - until > 0) {
                return false;
            }
            LockSupport.parkNanos(1_000_000);
        }
        return true;
    }

    /** Returns what the register has seen so far that must never be. */
    public List<String> seenByTheRegister() {
        return register.faults();
    }

    /** Has the listener of this candidate block from now on, for so long. */
    public void block(int place, Duration time) {
        at(place).tell("block " + time.toMillis());
    }

    /**
     * Begins a fault.
     *
     * @param number of the candidate's place, or of the server, if it is about one
     * @param time for how long it will last, as far as that must be known beforehand
     */
    public Undo begin(BenchFault fault, int number, Duration time) {
        var candidate = fault.hurtsOneCandidate();
        var whom = candidate ? at(number).toString() : serverName(fault, number);
        chronicle.note("begin: " + fault + ' ' + whom);
        deeds.add(new Chronicle.Deed(
                System.nanoTime(), fault, candidate ? Optional.of(NAMES.get(number)) : Optional.empty()));
        var undo = does(fault, number, time);
        return new Undo() {
            @Override
            public void run() {
                chronicle.note("end:   " + fault + ' ' + whom);
                undo.run();
            }

            @Override
            public boolean isReady() {
                return undo.isReady();
            }
        };
    }

    /** Once a process has been told to leave. */
    private Undo whenEnded(int number, Runnable before) {
        var victim = at(number);
        return new Undo() {
            @Override
            public void run() {
                before.run();
                victim.awaitEnd();
                start(number);
            }

            @Override
            public boolean isReady() {
                return !victim.isAlive();
            }
        };
    }

    /**
     * Orders the one at this place to stand down, which cannot hear it, until another has led. Then this is done.
     *
     * @param led whether anybody led when that one could still hear: a dead leader leads no more, and has the seat
     */
    private Undo ordersToDeaf(int number, boolean led, Runnable after) {
        var since = System.nanoTime();
        var orders = actions.standDownAgainAndAgain(led);
        return new Undo() {
            @Override
            public void run() {
                orders.run();
                if (!isReady()) {
                    faults.add("nobody else led while " + NAMES.get(number)
                            + " was ordered to stand down, again and again, and could not hear it: the last order "
                            + actions.lastOrder());
                }
                after.run();
            }

            @Override
            public boolean isReady() {
                return IntStream.range(0, places.size())
                        .filter(place -> place != number)
                        .anyMatch(place -> last(place)
                                .filter(term -> term.lastNanos() - since > 0)
                                .isPresent());
            }
        };
    }

    private String serverName(BenchFault fault, int number) {
        return switch (fault.victim()) {
            case SERVER, MORTAL_SERVER, SERVER_CLOCK ->
                environment.servers().get(number).name();
            default -> "";
        };
    }

    private Undo does(BenchFault fault, int number, Duration time) {
        return switch (fault) {
            case STUTTER -> FaultActions.stutter(at(number));
            case KILL -> {
                at(number).kill();
                yield () -> start(number);
            }
            case VANISH -> {
                actions.loseTouch(number);
                at(number).kill();
                yield () -> {
                    environment.links(number).forEach(FaultProxy::heal);
                    start(number);
                };
            }
            case FREEZE_BRIEFLY, FREEZE -> {
                var victim = at(number);
                victim.freeze();
                yield victim::thaw;
            }
            case LEAVE -> {
                at(number).leave();
                yield whenEnded(number, () -> {});
            }
            case LEAVE_INTERRUPTED -> {
                at(number).leaveInterrupted();
                yield whenEnded(number, () -> {});
            }
            case LEAVE_CUT_OFF -> {
                leavesCutOff++;
                environment.links(number).forEach(FaultProxy::cut);
                if (leavesCutOff % 2 == 1) {
                    at(number).leaveInterrupted();
                } else {
                    at(number).leave();
                }
                yield whenEnded(number, () -> environment.links(number).forEach(FaultProxy::heal));
            }
            case ORDERS_TO_DEAD -> {
                var led = isLed();
                at(number).kill();
                yield ordersToDeaf(number, led, () -> start(number));
            }
            case ORDERS_TO_FROZEN -> {
                var victim = at(number);
                var led = isLed();
                victim.freeze();
                yield ordersToDeaf(number, led, victim::thaw);
            }
            case INTERRUPT_THREADS -> {
                var victim = at(number);
                victim.tell(ContestantMain.INTERRUPT_THREADS);
                yield () -> victim.tell(ContestantMain.INTERRUPT_THREADS);
            }
            case BLOCK_LISTENER -> {
                block(number, time);
                yield actions.standDown();
            }
            default -> actions.begin(fault, number, time);
        };
    }

    /**
     * Has all candidates leave in order, the leader first and then each that leads after it, and tells what was found:
     * that one did not lead in its turn, too, though nothing is wrong any more.
     */
    public Findings end() {
        return end(PATIENCE);
    }

    Findings end(Duration patience) {
        var led = false;
        try {
            awaitAll();
            chronicle.note("all leave");
            while (processes.stream().anyMatch(ContestantProcess::isAlive)) {
                var leader = awaitLeader(patience);
                led = true;
                leave(leader);
            }
        } catch (AssertionError nobody) {
            faults.add("in the end, with nothing wrong any more, " + nobody.getMessage());
            processes.stream().filter(ContestantProcess::isAlive).forEach(ContestantProcess::kill);
        }
        processes.forEach(process -> faults.addAll(process.faults()));
        faults.addAll(actions.faults());
        var terms = terms();
        chronicle.merge(terms);
        return new Findings(environment.describe(), terms, faults, !led, deeds, register, chronicle.file());
    }

    /** Returns all terms so far, in the order in which they began. */
    private List<ObservedTerm> terms() {
        return processes.stream()
                .flatMap(process -> process.terms().stream())
                .sorted(Comparator.comparing(ObservedTerm::firstNanos, (a, b) -> Long.signum(a - b)))
                .toList();
    }

    private void leave(int place) {
        var process = places.get(place).process;
        if (process != null) {
            process.leave();
            process.awaitEnd();
        }
    }

    /** Kills what runs. */
    @Override
    public void close() {
        for (var process : processes) {
            if (process.isAlive()) {
                process.thaw();
                process.kill();
            }
        }
        register.close();
        actions.close();
    }
}
