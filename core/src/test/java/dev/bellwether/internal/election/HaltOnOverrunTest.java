package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.LockConfig;
import dev.bellwether.NotLeaderException;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import dev.bellwether.RunLock;
import dev.bellwether.internal.loop.LoopThread;
import dev.bellwether.memory.MemoryGroups;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.memory.MemoryRosters;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.RosterCarrier;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The last resort, in a process that may be halted. */
@Execution(ExecutionMode.CONCURRENT) // they wait, each for a process of its own
class HaltOnOverrunTest {
    private static final String TIMES = "bellwether.test.times";
    /** All that takes time here takes so many times as long. */
    private static final int LONGER = Integer.getInteger(TIMES, 1);

    /** Of a roster; a mandate of TIMED is half as long, one of OVERLAPPING more than twice. */
    private static final Duration LEASE = Duration.ofSeconds(6).multipliedBy(LONGER);

    private static final Duration OF_A_CANDIDATE = Duration.ofSeconds(3).multipliedBy(LONGER);
    private static final Duration OF_A_LOCK = Duration.ofSeconds(2).multipliedBy(LONGER);
    private static final Duration WORK = Duration.ofSeconds(45).multipliedBy(LONGER);

    private static final int MOST_TIMES = 4;
    private static final Duration HANGS = Duration.ofMinutes(2);

    @Test
    @Timeout(180)
    void aProcessWhoseWorkIsDeafToInterruptsHaltsBeforeTheLeaseEnds() throws Exception {
        assertThat(haltedAfter(Deaf.class)).contains("haltOnOverrun");
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    @Timeout(180)
    void aMemberOfARosterWhoseWorkIsDeafToInterruptsHaltsItsProcess(RosterMode mode) throws Exception {
        assertThat(haltedAfter(DeafMember.class, mode.name(), "cut")).contains("haltOnOverrun");
    }

    @ParameterizedTest
    @EnumSource(RosterMode.class)
    @Timeout(180)
    void aMemberOfARosterWhoseTurnThrewHaltsItsProcess(RosterMode mode) throws Exception {
        assertThat(haltedAfter(DeafMember.class, mode.name(), "thrown")).contains("haltOnOverrun");
    }

    @Test
    @Timeout(180)
    void aMemberOfARosterHaltsItsProcessThoughItsLogThrows() throws Exception {
        haltedAfter(DeafMember.class, RosterMode.EXCLUSIVE.name(), "cut and mute");
    }

    /** The loop runs again when the listener's time is over, and the lease, and another may have the seat. */
    @Test
    @Timeout(180)
    void aLockWhoseTaskIsDeafToInterruptsHaltsItsProcessThoughTheLoopIsLate() throws Exception {
        assertThat(haltedAfter(DeafTask.class, "ordered")).contains("haltOnOverrun");
    }

    /** Who closes has waited long enough by then, and has let go of everything. */
    @Test
    @Timeout(180)
    void aLockWhoseTaskIsDeafHaltsItsProcessThoughTheElectionsAreClosedWhileTheLoopIsLate() throws Exception {
        assertThat(haltedAfter(DeafTask.class, "closed")).contains("haltOnOverrun");
    }

    @Test
    @Timeout(180)
    void aMemberOfARosterHaltsItsProcessThoughTheElectionsAreClosedWhileTheLoopIsLate() throws Exception {
        assertThat(haltedAfter(DeafMember.class, RosterMode.EXCLUSIVE.name(), "closed"))
                .contains("haltOnOverrun");
    }

    /** The deadline is found by a timer, and the end of the lease by the next, before any listener can hear of it. */
    @Test
    @Timeout(180)
    void aLockThatIsOnlyKeptFreeHaltsNothingThoughTheLoopIsLate() throws Exception {
        var ended = ended(1, Keeper.class);
        assertThat(ended.exit).as(ended.output).isZero();
        assertThat(ended.output).contains("lives");
    }

    /**
     * Runs this until it has been halted at work, and returns what it said. On a machine on which it does not run for
     * seconds it may be halted before it works: then it begins again, with leases twice as long.
     */
    private static String haltedAfter(Class<?> deaf, String... arguments) throws Exception {
        var output = haltedOnce(1, deaf, arguments);
        for (var times = 2; !output.contains("working") && times <= MOST_TIMES; times *= 2) {
            output = haltedOnce(times, deaf, arguments);
        }
        assertThat(output).contains("working");
        return output;
    }

    private static String haltedOnce(int times, Class<?> deaf, String... arguments) throws Exception {
        var ended = ended(times, deaf, arguments);
        assertThat(ended.exit).as(ended.output).isEqualTo(86);
        assertThat(ended.output).doesNotContain("survived");
        return ended.output;
    }

    private record Ended(int exit, String output) {}

    private static Ended ended(int times, Class<?> program, String... arguments) throws Exception {
        var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        var classPath = System.getProperty("java.class.path")
                + File.pathSeparator
                + Objects.requireNonNullElse(System.getProperty("jdk.module.path"), "");
        var longer = "-D" + TIMES + '=' + times;
        var command = new ArrayList<>(List.of(
                java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", longer, "-cp", classPath, program.getName()));
        command.addAll(List.of(arguments));
        var process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            var output = CompletableFuture.supplyAsync(() -> said(process)).get(HANGS.toSeconds(), TimeUnit.SECONDS);
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).as(output).isTrue();
            return new Ended(process.exitValue(), output);
        } finally {
            process.destroyForcibly();
        }
    }

    private static String said(Process process) {
        try {
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Says that it works, and continues for long, whatever interrupts it. */
    private static void workOn(CountDownLatch working) {
        System.out.println("working");
        working.countDown();
        var until = System.nanoTime() + WORK.toNanos();
        while (System.nanoTime() - until < 0) {
            var unused = Thread.interrupted(); // and goes on
            LockSupport.parkNanos(1_000_000);
        }
        System.out.println("survived");
        Runtime.getRuntime().halt(0);
    }

    private static LoopThread loop() {
        var loop = new LoopThread(Clock.system(), Duration.ofMinutes(1), (time, how) -> {});
        loop.start();
        return loop;
    }

    private static Elections over(LoopThread loop) {
        return Elections.over(
                new MemoryLeaseStore(Clock.system()),
                ElectionsConfig.builder().loop(loop).requestTimeout(HANGS).build());
    }

    private static CandidacyConfig heardBy(LeadershipListener listener) {
        return CandidacyConfig.builder()
                .lease(OF_A_LOCK)
                .haltOnOverrun(true)
                .listener(listener)
                .build();
    }

    private static void standStill(Duration time) {
        var until = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - until < 0) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    /** Leads a role, works on regardless, and loses its group, is closed by a late loop, or has a turn that throws. */
    static final class DeafMember {
        private DeafMember() {}

        public static void main(String[] args) throws InterruptedException {
            var way = new Way(new MemoryGroups(Clock.system(), true));
            var loop = loop();
            var elections =
                    Elections.over(way, ElectionsConfig.builder().loop(loop).build());
            var roster = elections.roster(
                    "pricing",
                    RosterConfig.builder()
                            .roles(1)
                            .partitions(1)
                            .mode(RosterMode.valueOf(args[0]))
                            .lease(LEASE)
                            .haltOnOverrun(true)
                            .build());
            var working = new CountDownLatch(1);
            roster.whileLeading((role, mandate) -> workOn(working));
            working.await();
            if (args[1].endsWith("mute")) {
                System.setErr(new PrintStream(OutputStream.nullOutputStream()) {
                    @Override
                    public void println(@Nullable String line) {
                        throw new IllegalStateException("the log is full");
                    }
                });
            }
            way.cut = args[1].startsWith("cut");
            way.broken = args[1].startsWith("thrown");
            if (args[1].equals("closed")) {
                loop.execute(() -> standStill(LEASE.multipliedBy(2)));
                elections.close();
            }
            new CountDownLatch(1).await();
        }
    }

    /** The way to groups in memory. */
    private static final class Way extends Rig.Wire implements MemoryRosters.Wire {
        private final MemoryGroups groups;
        private volatile boolean broken;

        private Way(MemoryGroups groups) {
            super(new MemoryLeaseStore(Clock.system()));
            this.groups = groups;
        }

        @Override
        public <T> void call(Function<MemoryGroups, T> request, Consumer<T> answer) {
            if (broken) {
                throw new AssertionError("on purpose");
            }
            if (!cut) {
                answer.accept(request.apply(groups));
            }
        }

        @Override
        public Runnable watch(String topic, Runnable watcher) {
            return () -> {}; // what is new is found by looking
        }

        @Override
        public Optional<RosterCarrier> rosters() {
            return Optional.of(new MemoryRosters(groups, this));
        }
    }

    /** Leads, works on regardless, and loses its store. */
    static final class Deaf {
        private Deaf() {}

        public static void main(String[] args) throws InterruptedException {
            var wire = new Rig.Wire(new MemoryLeaseStore(Clock.system()));
            var elections = Elections.over(wire, ElectionsConfig.defaults());
            var candidacy = elections.stand(
                    "billing",
                    CandidacyConfig.builder()
                            .lease(OF_A_CANDIDATE)
                            .haltOnOverrun(true)
                            .build());
            var working = new CountDownLatch(1);
            candidacy.whileLeading(mandate -> workOn(working));
            working.await();
            wire.cut = true;
            new CountDownLatch(1).await();
        }
    }

    /** Works on under a lock that it is ordered to give back, or that is closed, while its loop stands still. */
    static final class DeafTask {
        private DeafTask() {}

        public static void main(String[] args) throws InterruptedException {
            var loop = loop();
            var elections = over(loop);
            var candidacy = heardBy(event -> {
                if (event instanceof LeadershipEvent.Revoked) {
                    loop.execute(() -> standStill(OF_A_LOCK.multipliedBy(2)));
                }
            });
            var lock = elections.lock(
                    "report", LockConfig.builder().candidacy(candidacy).build());
            var working = new CountDownLatch(1);
            var task = new Thread(() -> run(lock, working));
            task.start();
            working.await();
            if (args[0].equals("closed")) {
                elections.close();
            } else {
                elections.election("report").standDown();
            }
        }

        private static void run(RunLock lock, CountDownLatch working) {
            try {
                while (working.getCount() > 0) { // where nothing runs for seconds the lock may be lost before
                    lock.tryRun(mandate -> workOn(working));
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e); // while it waited for the lock
            }
        }
    }

    /** Has run under a lock that is kept free for longer, when its loop stands still. */
    static final class Keeper {
        private Keeper() {}

        public static void main(String[] args) throws InterruptedException {
            var loop = loop();
            var elections = over(loop);
            var candidacy = heardBy(event -> {});
            var lock = elections.lock(
                    "report",
                    LockConfig.builder()
                            .candidacy(candidacy)
                            .atLeast(Duration.ofMinutes(1))
                            .build());
            while (!ran(lock)) {
                System.out.println("late");
            }
            loop.execute(() -> standStill(OF_A_LOCK.multipliedBy(2)));
            if (elections.lock("report").tryLock(HANGS).isHeld()) {
                System.out.println("lives");
            }
            Runtime.getRuntime().halt(0);
        }

        private static boolean ran(RunLock lock) throws InterruptedException {
            try {
                return lock.tryRun(mandate -> {});
            } catch (NotLeaderException e) { // on a machine on which it does not run for seconds
                return false;
            }
        }
    }
}
