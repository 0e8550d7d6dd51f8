package dev.bellwether.testkit.faults;

import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.faults.FaultBench.Undo;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * How to do what a bench does to all that is not a candidate's process. Confined to the thread of the bench, but for
 * the operator's.
 */
final class FaultActions implements AutoCloseable {
    private static final Duration STEP = Duration.ofHours(1);

    private final BenchEnvironment environment;
    private final Duration lease;
    private final String election;
    private final Path clock;
    private final Consumer<String> notes;
    private final ScheduledExecutorService operator = Executors.newSingleThreadScheduledExecutor(FaultActions::thread);
    private final List<String> faults = new CopyOnWriteArrayList<>();
    private volatile String lastOrder = "was not given";
    private @Nullable Elections operators; // the operator's thread only
    private int steps;
    private int ones;

    FaultActions(BenchEnvironment environment, FaultBench.Setting setting, String election, Consumer<String> notes) {
        this.environment = environment;
        this.election = election;
        this.notes = notes;
        lease = setting.lease();
        clock = setting.folder().toAbsolutePath().resolve("clock");
    }

    private static Thread thread(Runnable task) {
        var thread = new Thread(task, "bellwether-operator");
        thread.setDaemon(true);
        return thread;
    }

    /** Begins a fault that needs no candidate's process. */
    Undo begin(BenchFault fault, int number, Duration time) {
        return switch (fault) {
            case CUT -> cut(number, Link.Way.BOTH);
            case CUT_REQUESTS -> cut(number, Link.Way.REQUESTS);
            case CUT_ANSWERS -> cut(number, Link.Way.ANSWERS);
            case CUT_ONE_SERVER -> {
                var links = environment.links(number);
                var one = links.get(ones++ % links.size());
                one.cut();
                yield one::heal;
            }
            case CUT_ONE_CONNECTION -> {
                var links = environment.links(number);
                ones++;
                for (var i = 0;
                        i < links.size()
                                && !links.get((ones + i) % links.size()).cutOne(ones);
                        i++) {}
                yield () -> links.forEach(FaultProxy::heal);
            }
            case SLOW -> {
                environment.links(number).forEach(link -> link.delay(lease.dividedBy(12)));
                yield () -> environment.links(number).forEach(FaultProxy::heal);
            }
            case RESET -> {
                environment.links(number).forEach(FaultProxy::reset);
                yield () -> environment.links(number).forEach(FaultProxy::reset);
            }
            case HALF_DEAD -> {
                environment.links(number).forEach(link -> link.abandonOne(steps++));
                yield () -> {};
            }
            case STEP_SERVER_BACK -> {
                environment.servers().get(number).setBack(lease.multipliedBy(3));
                yield () -> {};
            }
            case STAND_DOWN -> standDown();
            case STARVE -> starve(time);
            case STEP_CLOCK -> {
                steps++;
                set(steps % 2 == 0 ? STEP.negated() : STEP);
                yield () -> set(Duration.ZERO);
            }
            case FREEZE_SERVER -> {
                var victim = environment.servers().get(number);
                victim.pause();
                yield victim::resume;
            }
            case KILL_SERVER -> kill(environment.servers().get(number));
            case KILL_LEADER_OF_SERVERS -> kill(environment.leader());
            case DROP_RECORDS -> hurt(records()::drop);
            case DELETE_RECORDS -> hurt(records()::delete);
            case SPOIL_RECORDS -> hurt(records()::spoil);
            case KILL,
                    FREEZE_BRIEFLY,
                    FREEZE,
                    STUTTER,
                    LEAVE,
                    LEAVE_INTERRUPTED,
                    LEAVE_CUT_OFF,
                    ORDERS_TO_DEAD,
                    ORDERS_TO_FROZEN,
                    VANISH,
                    INTERRUPT_THREADS,
                    BLOCK_LISTENER -> throw new IllegalArgumentException(fault + " is of a process");
        };
    }

    private Undo kill(BenchEnvironment.Server victim) {
        notes.accept("(it is " + victim.name() + ")");
        victim.kill();
        return victim::start;
    }

    private BenchEnvironment.Records records() {
        return environment.records().orElseThrow();
    }

    /**
     * Nobody waits for a server that may be frozen. It is over a lease after it was done: until then the leader may
     * lead, and have no record.
     */
    private Undo hurt(Runnable deed) {
        var done = inBackground("bellwether-hurt-records", () -> {
            deed.run();
            notes.accept("(it is done)");
            Eventually.throughout("a lease", lease, () -> true);
        });
        return new Undo() {
            @Override
            public void run() {
                if (!done.isDone() || done.isCompletedExceptionally()) {
                    faults.add("no server has hurt its records, though it was asked again and again");
                }
            }

            @Override
            public boolean isReady() {
                return done.isDone();
            }
        };
    }

    /** Runs it on a thread of its own. */
    static CompletableFuture<Void> inBackground(String name, Runnable task) {
        return CompletableFuture.runAsync(task, each -> {
            var thread = new Thread(each, name);
            thread.setDaemon(true);
            thread.start();
        });
    }

    private Undo cut(int place, Link.Way way) {
        environment.links(place).forEach(link -> link.cut(way));
        return () -> environment.links(place).forEach(FaultProxy::heal);
    }

    /**
     * Has it wait for answers first, so that whatever it does in several steps is half done; then nothing of it arrives
     * any more.
     */
    void loseTouch(int place) {
        environment.links(place).forEach(link -> link.delay(lease.dividedBy(12)));
        LockSupport.parkNanos(lease.dividedBy(2).toNanos());
        environment.links(place).forEach(FaultProxy::abandon);
    }

    /** Freezes and thaws it in turn. The shell ends with the process. */
    static Undo stutter(ContestantProcess victim) {
        var pid = Long.toString(victim.pid());
        var shell = run("while kill -STOP " + pid + "; do sleep 0.06; kill -CONT " + pid + "; sleep 0.02; done");
        return () -> {
            end(shell);
            victim.thaw();
        };
    }

    private static void end(Process process) {
        try {
            process.destroyForcibly().waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * So many that each of ours gets a fraction of a processor. Each is one process, so that nothing of it is left when
     * it is killed; and it ends by itself, whatever becomes of us.
     */
    private static Undo starve(Duration time) {
        var line = "while ((SECONDS <= " + (time.toSeconds() + 1) + ")); do :; done";
        var hogs = IntStream.range(0, 3 * Runtime.getRuntime().availableProcessors())
                .mapToObj(i -> run(line))
                .toList();
        return () -> hogs.forEach(Process::destroyForcibly);
    }

    private static Process run(String line) {
        try {
            return new ProcessBuilder("bash", "-c", line)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(line, e);
        }
    }

    /** An operator waits for no answer of ours: the server may be away at the moment. */
    Undo standDown() {
        operator.execute(() -> order(new Orders()));
        return () -> {};
    }

    /**
     * Orders anybody who is in the seat to stand down, twice in each lease, until that is ended.
     *
     * @param led whether somebody led when this began: then the first of these finds that one's seat
     */
    Undo standDownAgainAndAgain(boolean led) {
        var orders = new Orders();
        var schedule = operator.scheduleWithFixedDelay(
                () -> order(orders), 0, lease.dividedBy(2).toMillis(), TimeUnit.MILLISECONDS);
        return () -> {
            schedule.cancel(false);
            if (led && orders.neverFoundAnybody()) {
                faults.add(
                        orders.answered + " orders to stand down found nobody there, and all were answered, the first "
                                + TimeUnit.NANOSECONDS.toMillis(orders.firstNanos) + " ms after they began");
            }
        };
    }

    private void order(Orders orders) {
        try {
            if (operators == null) {
                operators = Elections.connect(environment.operatorsUri());
                orders.beganNanos = System.nanoTime(); // it has seen no record yet
            }
            var seat = operators.election(election);
            var found = seat.standDown();
            orders.found |= found;
            if (orders.answered.getAndIncrement() == 0) {
                orders.firstNanos = System.nanoTime() - orders.beganNanos;
            }
            lastOrder = found ? "found somebody there" : "found nobody there, and then " + seen(seat);
        } catch (ElectionException e) {
            orders.failed = true;
            lastOrder = "failed: " + e.getMessage();
        } catch (RuntimeException e) { // which would end the schedule
            orders.failed = true;
            lastOrder = "failed: " + e;
            faults.add("an order to stand down " + lastOrder);
        }
        notes.accept("operator: an order to stand down " + lastOrder);
    }

    private static String seen(Election seat) {
        try {
            return String.valueOf(seat.leader());
        } catch (ElectionException e) {
            return "could not look";
        }
    }

    /** What became of the orders of one fault. The operator's thread writes, the bench reads. */
    private final class Orders {
        private static final int SEVERAL = 4;

        private final AtomicInteger answered = new AtomicInteger();
        private volatile long beganNanos = System.nanoTime();
        private volatile long firstNanos;
        private volatile boolean found;
        private volatile boolean failed;

        /**
         * An operator may have seen the last renewal in an order before these. If the first of these comes late, that
         * lease is over for it, rightly.
         */
        private boolean neverFoundAnybody() {
            return answered.get() >= SEVERAL && !found && !failed && firstNanos < lease.toNanos() / 2;
        }
    }

    /** Returns what orders have shown that must not be. */
    List<String> faults() {
        return faults;
    }

    /** Returns what became of the last order. */
    String lastOrder() {
        return lastOrder;
    }

    /** Returns the environment in which a process has the wall clock that is stepped here. */
    Map<String, String> steppedClock(String libfaketime) {
        set(Duration.ZERO);
        return SteppedClock.environment(clock, libfaketime);
    }

    private void set(Duration ahead) {
        SteppedClock.set(clock, ahead);
    }

    @Override
    public void close() {
        operator.execute(() -> {
            if (operators != null) {
                operators.close();
            }
        });
        operator.shutdown();
    }
}
