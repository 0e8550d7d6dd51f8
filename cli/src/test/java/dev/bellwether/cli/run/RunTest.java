package dev.bellwether.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.LeadershipListener;
import dev.bellwether.cli.Commands;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Never;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code run} as processes, on a backend that they share, with commands that leave a trace on a common clock. */
class RunTest {
    // A busy machine starts a process slowly, and must not lose the seat for it.
    private static final Duration LEASE = Duration.ofSeconds(5);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Writes token and time again and again, and so does a process in its background; neither obeys SIGTERM. */
    private static final String STUBBORN = """
            trap '' TERM HUP INT
            beat() {
              exec 3<> <(:)
              while read -r up rest </proc/uptime; do
                echo "$BELLWETHER_TOKEN $up $BASHPID" >>"$BEATS"
                read -t 0.005 -u 3
              done
            }
            beat &
            beat
            """;

    private static final Path KEEPER = Path.of("src/main/resources/dev/bellwether/cli/run/keeper.bash");

    @TempDir
    Path folder;

    private final List<Process> started = new ArrayList<>();
    private Path beats = Path.of("");

    @BeforeEach
    void nameTheTrace() {
        beats = folder.resolve("beats");
    }

    @AfterEach
    void leaveNothingRunning() throws IOException, InterruptedException {
        started.forEach(Process::destroyForcibly);
        for (var process : started) {
            process.waitFor();
        }
        for (var pid : pids()) {
            ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    @Test
    void commandKnowsWhatItRunsFor() throws Exception {
        var run = run("--id", "ann", "billing", "--", "sh", "-c", "env > " + folder.resolve("env"));

        assertThat(codeOf(run)).isZero();
        assertThat(lines("env"))
                .contains("BELLWETHER_ELECTION=billing", "BELLWETHER_CANDIDATE=ann", "BELLWETHER_TOKEN=1");
    }

    @Test
    void argumentsThatBeginWithAnAtReachTheCommandAsTheyWere() throws Exception {
        var file = Files.writeString(folder.resolve("body"), "two words # and a remark\n");
        var out = folder.resolve("out");
        var run = run("e", "--", "sh", "-c", "printf '%s\\n' \"$@\" >" + out, "sh", "@" + file, "@@" + file);

        assertThat(codeOf(run)).isZero();
        assertThat(lines("out")).containsExactly("@" + file, "@@" + file);
    }

    @Test
    void optionsOfTheCommandAreItsOwnAlsoWithoutDashes() throws Exception {
        var out = folder.resolve("out");
        var run = run("e", "sh", "-c", "printf '%s\\n' \"$@\" >" + out, "sh", "--help", "-q", "--verbose", "--", "-V");

        assertThat(codeOf(run)).isZero();
        assertThat(lines("out")).containsExactly("--help", "-q", "--verbose", "--", "-V");
    }

    @Test
    void exitCodeOfTheCommandIsPassedOn() throws Exception {
        assertThat(codeOf(run("e", "--", "sh", "-c", "exit 7"))).isEqualTo(7);
        assertThat(codeOf(run("e", "--", "sh", "-c", "kill -9 $$"))).isEqualTo(137);
        assertThat(codeOf(run("e", "--", folder.resolve("nothing-here").toString())))
                .isEqualTo(127);
        assertThat(codeOf(run(
                        "e",
                        "--",
                        Files.writeString(folder.resolve("plain"), "").toString())))
                .isEqualTo(126);
    }

    @Test
    void standardStreamsAreThoseOfTheCommand() throws Exception {
        var process = builder("-q", "e", "--", "cat")
                .redirectOutput(folder.resolve("out").toFile())
                .start();
        started.add(process);
        try (var in = process.getOutputStream()) {
            in.write("through\n".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }

        assertThat(codeOf(process)).isZero();
        assertThat(lines("out")).containsExactly("through");
    }

    @Test
    void quietRunSaysOnceThatNobodyAnswersAtTheStartAndOnceThatThisIsOver() throws Exception {
        Process run;
        try (var connection = DriverManager.getConnection(Commands.uri(folder));
                var statement = connection.createStatement()) {
            statement.execute("BEGIN EXCLUSIVE");
            run = run("-q", "--timeout", "300ms", "e", "--", "true");
            until(() -> told(run).contains("rying again"));
            statement.execute("ROLLBACK");
        }
        assertThat(codeOf(run)).isZero();
        assertThat(told(run).lines())
                .satisfiesExactly(
                        first -> assertThat(first).contains("did not answer"),
                        second -> assertThat(second).contains("The outage is over, after "));
    }

    @Test
    void secondRunStandsByUntilTheFirstHasEndedItsCommand() throws Exception {
        // The grace is long: a slow machine must not get the command killed at what it does with it.
        var first = bellwether(
                "run",
                "--lease",
                "30s",
                "--grace",
                "9s",
                "e",
                "--",
                "bash",
                "-c",
                "trap 'sleep 0.2; echo first ends >>$BEATS; exit' TERM; echo first >>$BEATS; while :; do sleep 0.02; done");
        until(() -> lines("beats").contains("first"));
        var second = run("e", "--", "bash", "-c", "echo second >>$BEATS");
        until(() -> told(second).contains("standing by"));

        first.destroy();

        assertThat(codeOf(second)).isZero();
        assertThat(codeOf(first)).isEqualTo(143);
        assertThat(lines("beats")).containsExactly("first", "first ends", "second");
    }

    @Test
    void commandThatIgnoresSigtermIsKilledWithItsWholeGroupBeforeTheSeatIsHandedOver() throws Exception {
        var first = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var second = run("e", "--", "bash", "-c", STUBBORN);
        until(() -> told(second).contains("standing by"));

        first.destroy();

        untilBeats(2);
        assertThat(codeOf(first)).isEqualTo(143);
        assertNoOverlap(2);
    }

    @Test
    void commandDiesBeforeTheLeaseWhenBellwetherIsKilled() throws Exception {
        var first = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var second = run("e", "--", "bash", "-c", STUBBORN);
        until(() -> told(second).contains("standing by"));

        first.destroyForcibly();

        untilBeats(2);
        assertNoOverlap(2);
    }

    @Test
    void commandDiesBeforeTheLeaseWhenBellwetherIsFrozen() throws Exception {
        var first = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var second = run("e", "--", "bash", "-c", STUBBORN);
        until(() -> told(second).contains("standing by"));

        freezeBetweenTransactions(first);

        untilBeats(2);
        signal("CONT", first.pid());
        assertThat(codeOf(first)).isEqualTo(ExitCode.RUN_LOST);
        assertThat(told(first))
                .containsAnyOf(
                        "the watchdog ended the command: the lease was not extended in time", "leading no more (");
        assertNoOverlap(2);
    }

    /** Who is frozen within a transaction keeps the lock of SQLite's file, and nobody can be elected. */
    private void freezeBetweenTransactions(Process victim) throws Exception {
        signal("STOP", victim.pid());
        while (isLocked()) {
            signal("CONT", victim.pid());
            TimeUnit.MILLISECONDS.sleep(1); // of its transaction
            signal("STOP", victim.pid());
        }
    }

    /** Returns whether somebody keeps the file locked for longer than any transaction takes. */
    private boolean isLocked() throws SQLException {
        try (var connection = DriverManager.getConnection(Commands.uri(folder));
                var statement = connection.createStatement()) {
            statement.execute("PRAGMA busy_timeout = 500");
            statement.execute("BEGIN IMMEDIATE");
            statement.execute("ROLLBACK");
            return false;
        } catch (SQLException e) {
            if (String.valueOf(e.getMessage()).contains("SQLITE_BUSY")) {
                return true;
            }
            throw e;
        }
    }

    @Test
    void killedWatchdogTakesTheCommandWithIt() throws Exception {
        var run = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);

        signal("KILL", keeperOf(run));

        assertThat(codeOf(run)).isEqualTo(ExitCode.RUN_FAILED);
        assertThat(told(run)).contains("watchdog");
        assertNobodyLives();
    }

    /** As where systemd-tmpfiles removes from /tmp what is ten days old. */
    @Test
    void killedWatchdogTakesTheCommandWithItThoughItsReportIsGone() throws Exception {
        var run = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var keeper = keeperOf(run);
        Files.delete(fileOf(keeper, "report"));

        signal("KILL", keeper);

        assertThat(codeOf(run)).isEqualTo(ExitCode.RUN_FAILED);
        assertNobodyLives();
    }

    @Test
    void frozenWatchdogIsReplacedByBellwetherItself() throws Exception {
        var first = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var second = run("e", "--", "bash", "-c", STUBBORN);
        until(() -> told(second).contains("standing by"));

        signal("STOP", keeperOf(first));
        first.destroy();

        untilBeats(2);
        assertNoOverlap(2);
    }

    @Test
    void watchdogThatHasBeenFrozenForLongIsReplacedByBellwetherItselfToo() throws Exception {
        var first = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var second = run("e", "--", "bash", "-c", STUBBORN);
        until(() -> told(second).contains("standing by"));
        var keeper = keeperOf(first);

        signal("STOP", keeper);
        fillOrders(keeper); // as the deadlines of some hours do
        first.destroy();

        untilBeats(2);
        assertNoOverlap(2);
        assertThat(codeOf(first)).isEqualTo(143);
    }

    /** As where the machine has no memory for another process, or the user has no more of them. */
    @Test
    void frozenWatchdogIsReplacedByBellwetherItselfAlsoIfThatCanStartNothing() throws Exception {
        var path = Files.createDirectory(folder.resolve("path"));
        for (var tool : List.of("bash", "setsid", "mkfifo")) {
            Files.createSymbolicLink(
                    path.resolve(tool), Programs.find(tool).orElseThrow().toAbsolutePath());
        }
        var bash = path.resolve("bash");
        var shell = bash.toRealPath().toString();
        var builder = builder("--grace", "300ms", "e", "--", shell, "-c", STUBBORN);
        builder.environment().put("PATH", path.toString());
        var run = started(builder);
        untilBeats(1);

        Files.delete(bash);
        signal("STOP", keeperOf(run));
        run.destroy();

        assertThat(codeOf(run)).isEqualTo(143);
        assertNobodyLives();
    }

    private void fillOrders(long keeper) throws IOException, InterruptedException {
        fill(fileOf(keeper, "orders"));
    }

    /** Returns a file in the folder of a watchdog. */
    private static Path fileOf(long keeper, String name) {
        var arguments =
                ProcessHandle.of(keeper).orElseThrow().info().arguments().orElseThrow();
        var script = Arrays.stream(arguments)
                .filter(argument -> argument.endsWith("keeper.bash"))
                .findFirst()
                .orElseThrow();
        return Path.of(script).resolveSibling(name);
    }

    /** Writes to a FIFO that nobody reads from until there is room for no more. */
    private void fill(Path fifo) throws IOException, InterruptedException {
        var said = folder.resolve("dd");
        var dd = new ProcessBuilder("dd", "if=/dev/zero", "of=" + fifo, "bs=1", "oflag=nonblock", "conv=notrunc")
                .redirectError(said.toFile());
        dd.environment().put("LC_ALL", "C");
        assertThat(dd.start().waitFor()).isEqualTo(1);
        assertThat(Files.readString(said)).contains("Resource temporarily unavailable");
    }

    @Test
    void commandIsEndedBeforeAnotherLeadsAlsoIfNobodyReadsWhatIsSaid() throws Exception {
        // The mandate is long, so that the watchdog would let the command run on for long.
        var stubborn = new String[] {"run", "--lease", "15s", "--grace", "300ms", "e", "--", "bash", "-c", STUBBORN};
        try (var errors = fifo("errors")) {
            var first = started(command(stubborn).redirectError(errors.path.toFile()));
            untilBeats(1);
            var second = bellwether(stubborn);
            until(() -> told(second).contains("standing by"));
            fill(errors.path);

            standDown();

            untilBeats(2);
            assertNoOverlap(2);
            assertThat(first.isAlive()).isTrue();
        }
    }

    @Test
    void commandIsStartedAndItsCodePassedOnAlsoIfNobodyReadsWhatIsSaid() throws Exception {
        try (var errors = fifo("errors")) {
            fill(errors.path);

            var script = "echo begun >>$BEATS; exit 7";
            var run =
                    started(builder("--verbose", "e", "--", "sh", "-c", script).redirectError(errors.path.toFile()));
            until(() -> lines("beats").contains("begun"));
            errors.drain();

            assertThat(codeOf(run)).isEqualTo(7);
        }
    }

    /** A FIFO that has a reader, which reads nothing. */
    private record Unread(Path path, FileChannel open) implements AutoCloseable {
        /** Reads whatever comes from now on. */
        void drain() {
            var thread = new Thread(() -> {
                try {
                    while (open.read(ByteBuffer.allocate(4096)) >= 0) {}
                } catch (IOException closed) {
                    return;
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void close() throws IOException {
            open.close();
        }
    }

    private Unread fifo(String name) throws Exception {
        var path = folder.resolve(name);
        Programs.run("mkfifo", path.toString());
        return new Unread(path, FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE));
    }

    private Process started(ProcessBuilder builder) throws IOException {
        var process = builder.start();
        started.add(process);
        return process;
    }

    @Test
    void watchdogThatIsOrderedToEndTheCommandBeforeItKnowsADeadlineStartsNone() throws Exception {
        var keeper = keeperThatKnowsNoDeadline();

        Files.writeString(orders(), "down\n");

        assertStartedNothing(keeper, "ordered"); // so nothing is broken
    }

    @Test
    void watchdogThatHearsOfNoDeadlineForLongStartsNothingAndSaysThatItIsLate() throws Exception {
        assertStartedNothing(keeperThatKnowsNoDeadline(), "late"); // so nothing is broken
    }

    @Test
    void watchdogThatGetsASignalBeforeItKnowsADeadlineStartsNothingAndSaysThatItWasAsked() throws Exception {
        var keeper = keeperThatKnowsNoDeadline();
        until(() -> reads(keeper, orders()));
        signal("TERM", keeper.pid());

        Files.writeString(orders(), "until 9000000000000000\n");

        assertStartedNothing(keeper, "asked");
    }

    private Path orders() {
        return folder.resolve("orders");
    }

    /** Starts the watchdog alone, which waits for its first order. */
    private Process keeperThatKnowsNoDeadline() throws Exception {
        Programs.run("mkfifo", orders().toString());
        var command = List.of("touch", folder.resolve("started").toString());
        var line =
                new ArrayList<>(List.of("bash", "-p", KEEPER.toString(), folder.toString(), "300", "no", "", "", "--"));
        line.addAll(command);
        var keeper = new ProcessBuilder(line).start();
        started.add(keeper);
        return keeper;
    }

    private static boolean reads(Process process, Path file) {
        try (var open = Files.list(Path.of("/proc/" + process.pid() + "/fd"))) {
            return open.filter(one -> isLinkTo(one, file)).count() > 1; // it is opened for writing first
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static boolean isLinkTo(Path link, Path file) {
        try {
            return Files.readSymbolicLink(link).equals(file);
        } catch (IOException e) {
            return false; // closed by now
        }
    }

    private void assertStartedNothing(Process keeper, String why) throws InterruptedException {
        assertThat(codeOf(keeper)).isEqualTo(ExitCode.RUN_FAILED);
        assertThat(lines("report")).containsExactly("ended 125 " + why);
        assertThat(folder.resolve("started")).doesNotExist();
    }

    @Test
    void processWhoseFirstThreadAloneHasEndedIsAliveForTheWatchdog() throws Exception {
        var program = """
                import ctypes, threading, time
                threading.Thread(target=lambda: time.sleep(600)).start()
                ctypes.CDLL(None).pthread_exit(None)
                """;
        var process = new ProcessBuilder("setsid", Scripts.where("python3"), "-c", program).start();
        started.add(process);
        until(() -> isZombie(process.pid()));

        assertThat(lives(process.pid())).isTrue();

        process.destroyForcibly().waitFor();
        assertThat(lives(process.pid())).isFalse();
    }

    private static boolean isZombie(long pid) {
        try {
            return Files.readString(Path.of("/proc/" + pid + "/stat")).contains(") Z ");
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Returns whether the watchdog takes a process group for alive after it has killed it. */
    private static boolean lives(long group) throws IOException, InterruptedException {
        var functions = Files.readString(KEEPER).replaceAll("(?s)\nhad_lc_all=.*", "\n");
        var script = functions + "pid=" + group + " killed=yes code=137; group_lives 2>/dev/null";
        return new ProcessBuilder("bash", "-p", "-c", script).start().waitFor() == 0;
    }

    @Test
    void watchdogThatGetsASignalSaysWhyTheCommandEnded() throws Exception {
        var run = run("--restart", "e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);

        signal("TERM", keeperOf(run));

        untilBeats(2);
        assertThat(told(run)).contains("the watchdog ended the command: it got a signal to end");
        assertNoOverlap(2);
    }

    @Test
    void candidacyThatFailsIsToldAsThatWithItsCauseAndEndsTheCommandWith121() throws Exception {
        var run = run("--restart", "-q", "--access-patience", "100ms", "e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);

        dropTable();

        assertThat(codeOf(run)).isEqualTo(ExitCode.RUN_CANDIDACY_FAILED);
        assertThat(told(run))
                .contains("the candidacy has failed: ", "bellwether_election")
                .doesNotContain("has ended");
        assertNobodyLives();
    }

    private void dropTable() throws SQLException {
        try (var connection = DriverManager.getConnection(Commands.uri(folder));
                var statement = connection.createStatement()) {
            statement.execute("PRAGMA busy_timeout = 5000");
            statement.execute("DROP TABLE bellwether_election");
        }
    }

    @Test
    void longRunIsExtendedAgainAndAgain() throws Exception {
        var lease = LEASE.multipliedBy(3); // so that no stall of a busy machine ends it
        var run = bellwether(
                "run", "--lease", lease.toMillis() + "ms", "--grace", "300ms", "e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var since = System.nanoTime();

        until(() -> System.nanoTime() - since > lease.toNanos() * 2);

        assertThat(run.isAlive()).isTrue();
        assertThat(beatsByToken()).hasSize(1);
    }

    @Test
    void restartStandsAgainWheneverTheCommandEnds() throws Exception {
        run("--restart", "e", "--", "bash", "-c", "echo $BELLWETHER_TOKEN >>$BEATS; exit 3");

        until(() -> lines("beats").size() >= 3);

        assertThat(lines("beats").subList(0, 3)).containsExactly("1", "2", "3");
    }

    @Test
    void maxWaitGivesUpWith124() throws Exception {
        run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);

        var second = run("--max-wait", "500ms", "e", "--", "false");

        assertThat(codeOf(second)).isEqualTo(ExitCode.RUN_NOT_WON);
        assertThat(told(second)).contains("500ms");
    }

    @Test
    void operatorsOrderEndsTheCommandAndIfNobodyElseStandsItIsStartedAgain() throws Exception {
        var run = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);

        for (var orders = 1; orders <= 2; orders++) {
            standDown();
            untilBeats(orders + 1);
        }

        assertThat(run.isAlive()).isTrue();
        assertThat(told(run)).contains("an operator ordered it to stand down");
        assertNoOverlap(3);
    }

    @Test
    void whoHandsOverByAnOrderStandsAgain() throws Exception {
        var first = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);
        var second = run("--id", "second", "e", "--", "bash", "-c", STUBBORN);
        until(() -> told(second).contains("standing by"));

        assertThat(codeOf(bellwether("hand-over", "e", "--to", "second", "--yes")))
                .isZero();

        until(() -> told(first).contains("standing by; leader: second"));
        untilBeats(2);
        assertThat(first.isAlive()).isTrue();
        assertNoOverlap(2);
    }

    @Test
    void watchdogThatIsTooSlowForAnOrderDoesNotEndTheRun() throws Exception {
        var run = run("e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);

        signal("STOP", keeperOf(run));
        standDown();

        untilBeats(2);
        assertThat(run.isAlive()).isTrue();
        assertThat(told(run)).doesNotContain("failed");
        assertNoOverlap(2);
    }

    @Test
    void endOfTheElectionEndsTheCommandWith122() throws Exception {
        var run = run("--restart", "e", "--", "bash", "-c", STUBBORN);
        untilBeats(1);

        assertThat(codeOf(bellwether("end", "e", "--yes"))).isZero();

        assertThat(codeOf(run)).isEqualTo(ExitCode.RUN_OVER);
        assertNobodyLives();
    }

    @Test
    void leftOversOfACommandThatEndedAreEndedToo() throws Exception {
        var run = run(
                "e",
                "--",
                "bash",
                "-c",
                "beat() { trap '' TERM; while :; do echo 1 0 $BASHPID >>$BEATS; sleep 0.05; done; }; beat & until [ -s $BEATS ]; do sleep 0.01; done; exit 5");

        assertThat(codeOf(run)).isEqualTo(5);
        assertNobodyLives();
    }

    @Test
    void commandThatStaysIsToldBySignals() throws Exception {
        var run = run(
                "--won",
                "USR1",
                "--lost",
                "SIGUSR2",
                "--restart",
                "e",
                "--",
                "bash",
                "-c",
                "say() { echo $1 $(cat $BELLWETHER_TOKEN_FILE) >>$BEATS; }; trap 'say won' USR1; trap 'say lost' USR2; say start; while :; do sleep 0.02; done");
        until(() -> lines("beats").contains("start 1"));

        standDown();

        until(() -> lines("beats").contains("won 2"));
        assertThat(lines("beats")).containsExactly("start 1", "lost", "won 2");
        signal("INT", run.pid());
        assertThat(codeOf(run)).isEqualTo(130);
    }

    @Test
    void commandThatStaysIsEndedAndWaitedForWhereItStandsBy() throws Exception {
        var run = bellwether(
                "run",
                "--lease",
                "30s",
                "--grace",
                "5s",
                "--won",
                "USR1",
                "--lost",
                "USR2",
                "e",
                "bash",
                "-c",
                "say() { echo $1 >>$BEATS; }; trap 'say won' USR1; trap 'say lost' USR2;"
                        + " trap 'sleep 1; say ended; exit' TERM; say start; while :; do sleep 0.02; done");
        until(() -> lines("beats").contains("start"));
        var other = bellwether("run", "--lease", "30s", "e", "bash", "-c", "echo other >>$BEATS; exec sleep 60");

        standDown();
        until(() -> lines("beats").contains("other"));
        signal("TERM", run.pid());

        assertThat(codeOf(run)).isEqualTo(143);
        assertThat(lines("beats")).containsExactly("start", "lost", "other", "ended");
        signal("TERM", other.pid());
        assertThat(codeOf(other)).isEqualTo(143);
    }

    /** Starts the watchdog alone, with a command that stays. */
    private Process watchdogOf(String script) throws IOException {
        var builder = new ProcessBuilder(
                "bash",
                "-p",
                KEEPER.toString(),
                folder.toString(),
                "30000",
                "no",
                "USR1",
                "USR2",
                "--",
                "bash",
                "-c",
                script);
        builder.environment().put("BEATS", beats.toString());
        builder.environment().put("TOKEN", folder.resolve("token").toString());
        var keeper = builder.start();
        started.add(keeper);
        return keeper;
    }

    @Test
    void commandThatStaysHasItsGraceAlsoWhileItStandsBy() throws Exception {
        Programs.run("mkfifo", orders().toString());
        var script = "say() { echo $1 >>$BEATS; }; trap 'say lost' USR2; trap 'sleep 0.2; say ended; exit' TERM;"
                + " say start; while :; do sleep 0.02; done";
        try (var open = FileChannel.open(orders(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            var keeper = watchdogOf(script);
            tell(open, "until 9000000000000000");
            until(() -> lines("beats").contains("start"));
            tell(open, "until 1"); // the mandate has been over for long
            until(() -> lines("beats").contains("lost"));

            tell(open, "down");

            assertThat(keeper.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(lines("beats")).containsExactly("start", "lost", "ended");
        }
    }

    @Test
    void commandThatWasToldOfALossIsToldThatItLeadsAgainWhenTheRenewalComesAfterAll() throws Exception {
        Programs.run("mkfifo", orders().toString());
        Files.writeString(folder.resolve("token"), "7\n");
        var script = "say() { echo $1 $(cat $TOKEN) >>$BEATS; }; trap 'say won' USR1; trap 'say lost' USR2;"
                + " trap exit TERM; say start; while :; do sleep 0.02; done";
        try (var open = FileChannel.open(orders(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            var keeper = watchdogOf(script);
            tell(open, "until 9000000000000000");
            until(() -> lines("beats").contains("start 7"));
            tell(open, "until 1");
            until(() -> lines("beats").contains("lost"));

            tell(open, "until 9000000000000000");

            try {
                until(() -> lines("beats").contains("won 7"));
            } finally {
                tell(open, "down");
                assertThat(keeper.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();
            }
            assertThat(lines("beats")).containsExactly("start 7", "lost", "won 7");
        }
    }

    @Test
    void commandWhoseTokenHasGoneIsNotToldThatItLeadsAgain() throws Exception {
        Programs.run("mkfifo", orders().toString());
        var script = "say() { echo $1 >>$BEATS; }; trap 'say won' USR1; trap 'say lost' USR2;"
                + " trap 'say ended; exit' TERM; say start; while :; do sleep 0.02; done";
        try (var open = FileChannel.open(orders(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            var keeper = watchdogOf(script);
            Files.writeString(folder.resolve("token"), "7\n");
            tell(open, "until 9000000000000000");
            until(() -> lines("beats").contains("start"));
            tell(open, "lost");
            until(() -> lines("beats").contains("lost"));
            Files.delete(folder.resolve("token")); // that of the next term, too
            tell(open, "won");
            until(() -> lines("beats").contains("won"));
            tell(open, "until 1");
            until(() -> lines("beats").size() == 4);

            tell(open, "until 9000000000000000");

            try {
                until(() -> lines("beats").size() == 5);
            } finally {
                tell(open, "down");
                assertThat(keeper.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();
            }
            assertThat(lines("beats")).containsExactly("start", "lost", "won", "lost", "ended");
        }
    }

    @Test
    void seatOfACommandThatStaysPassesAGraceAfterItIsToldOfTheLoss() throws Exception {
        var plan = LeasePlan.of(Optional.of(Duration.ofSeconds(10)), Optional.of(Duration.ofSeconds(2)));
        var lost = new CompletableFuture<Long>();
        var won = new CompletableFuture<Long>();
        try (var elections = Elections.connect("memory:" + folder)) {
            var session = session(jobThatStays(plan, Map.of("BEATS", beats.toString())));
            var leader = elections.stand("e", settings(plan, event -> {
                if (event instanceof LeadershipEvent.Revoked) {
                    lost.complete(System.nanoTime());
                }
                session.onEvent(event);
            }));
            untilBeats(1);
            elections.stand("e", settings(plan, event -> {
                if (event instanceof LeadershipEvent.Acquired) {
                    won.complete(System.nanoTime());
                }
            }));

            leader.standDown();

            var passed = won.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            session.leaving();
            assertThat(Duration.ofNanos(passed - lost.get())).isGreaterThanOrEqualTo(plan.grace());
        }
    }

    /** The candidacy gives the seat back when its listener returns, if the lease has not run out by then. */
    @ParameterizedTest
    @EnumSource(names = {"UNREACHABLE", "PAUSED"})
    void seatOfACommandThatStaysIsKeptForAGraceAfterAnOutage(Cause cause) throws Exception {
        var plan = LeasePlan.of(Optional.of(Duration.ofSeconds(10)), Optional.of(Duration.ofSeconds(2)));
        try (var elections = Elections.connect("memory:" + folder)) {
            var session = session(jobThatStays(plan, Map.of("BEATS", beats.toString())));
            var leader = elections.stand("e", settings(plan, session));
            untilBeats(1);
            var lost = System.nanoTime();

            session.onEvent(new LeadershipEvent.Fenced(leader.mandate().orElseThrow(), cause));

            assertThat(Duration.ofNanos(System.nanoTime() - lost)).isGreaterThanOrEqualTo(plan.grace());
            session.leaving();
        }
    }

    @Test
    void commandThatStaysDiesBeforeTheSeatPassesIfTheWatchdogIsFrozen() throws Exception {
        var plan = LeasePlan.of(Optional.of(LEASE), Optional.of(Duration.ofMillis(300)));
        var living = new CompletableFuture<List<Long>>();
        try (var elections = Elections.connect("memory:" + folder)) {
            var session = session(jobThatStays(plan, Map.of("BEATS", beats.toString())));
            var leader = elections.stand("e", settings(plan, session));
            untilBeats(1);
            elections.stand("e", settings(plan, event -> {
                if (event instanceof LeadershipEvent.Acquired) {
                    living.complete(living());
                }
            }));

            signal("STOP", keeperOf(ProcessHandle.current()));
            leader.standDown();

            try {
                assertThat(living.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                        .as(Never.mark("processes of the command that work when another leads"))
                        .isEmpty();
            } finally {
                session.leaving();
            }
        }
    }

    @Test
    void errorWhileTheCommandIsStartedIsAnOutcome() throws Exception {
        var plan = LeasePlan.of(Optional.of(LEASE), Optional.empty());
        var broken = new AbstractMap<String, String>() {
            @Override
            public Set<Entry<String, String>> entrySet() {
                throw new OutOfMemoryError("unable to create native thread");
            }
        };
        try (var elections = Elections.connect("memory:" + folder)) {
            var session = session(jobThatStays(plan, broken));

            elections.stand("e", settings(plan, session));

            assertThat(session.next(PATIENCE))
                    .isInstanceOfSatisfying(
                            RunSession.Broken.class,
                            outcome -> assertThat(outcome.why()).contains("unable to create native thread"));
        }
    }

    @Test
    void withoutAFolderForItsFilesItSaysWhatIsMissing() throws Exception {
        var builder = builder("--on", "jdbc:h2:" + folder.resolve("e"), "e", "--", "true");
        builder.environment().put("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + folder.resolve("none"));
        var process = builder.start();
        started.add(process);

        assertThat(codeOf(process)).isEqualTo(ExitCode.RUN_FAILED);
        assertThat(told(process)).contains("the command cannot be started: no such file or folder: " + folder);
    }

    @Test
    void commandThatIsBeingStartedIsNotIdle() throws Exception {
        var plan = LeasePlan.of(Optional.of(LEASE), Optional.empty());
        var starting = new CountDownLatch(1);
        var started = new CountDownLatch(1);
        var slow = new AbstractMap<String, String>() {
            @Override
            public Set<Entry<String, String>> entrySet() {
                starting.countDown();
                try {
                    started.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                return Set.of();
            }
        };
        try (var elections = Elections.connect("memory:" + folder)) {
            var session =
                    session(new Watchdog.Job(List.of("true"), slow, plan.grace(), plan.margin(), Optional.empty()));
            elections.stand("e", settings(plan, session));
            try {
                assertThat(starting.await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();

                assertThat(session.idle()).isZero();
                assertThat(session.giveUpIfIdleFor(Duration.ofNanos(1)))
                        .as("it gives up")
                        .isFalse();
            } finally {
                started.countDown();
            }
        }
    }

    private static Watchdog.Job jobThatStays(LeasePlan plan, Map<String, String> environment) {
        return new Watchdog.Job(
                List.of("bash", "-c", "trap : USR1 USR2; " + STUBBORN),
                environment,
                plan.grace(),
                plan.margin(),
                Optional.of(new Watchdog.Signals("USR1", "USR2")));
    }

    private static RunSession session(Watchdog.Job job) {
        return new RunSession(job, Duration.ofMillis(100), false, said -> {}, System.nanoTime());
    }

    private static CandidacyConfig settings(LeasePlan plan, LeadershipListener listener) {
        return CandidacyConfig.builder()
                .lease(plan.lease())
                .standDownBudget(plan.budget())
                .listener(listener)
                .build();
    }

    private static void tell(FileChannel orders, String order) throws IOException {
        orders.write(ByteBuffer.wrap((order + "\n").getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void commandThatCannotBeToldThatItLeadsAgainIsEndedWith125() throws Exception {
        var run = bellwether(
                "run",
                "--lease",
                "2s",
                "--grace",
                "300ms",
                "--won",
                "USR1",
                "--lost",
                "USR2",
                "--restart",
                "e",
                "--",
                "bash",
                "-c",
                "trap 'mkdir $BELLWETHER_TOKEN_FILE.new' USR2; trap 'echo won >>$BEATS' USR1;"
                        + " echo start >>$BEATS; while :; do sleep 0.02; done");
        until(() -> lines("beats").contains("start"));

        standDown();

        assertThat(codeOf(run)).isEqualTo(ExitCode.RUN_FAILED);
        assertThat(told(run))
                .contains("the command cannot be told that it leads again: ")
                .doesNotContain("SIGUSR1 sent");
        assertThat(lines("beats")).containsExactly("start");
    }

    @Test
    void commandIsEndedWhenTheWatchdogCanNoLongerBeToldOfTheTime() throws Exception {
        var uptime = Files.writeString(folder.resolve("uptime"), Files.readString(Path.of("/proc/uptime")));
        var script = "trap 'echo term >>$BEATS; exit' TERM; echo start >>$BEATS; while :; do sleep 0.02; done";
        var grace = Duration.ofSeconds(30);
        var job = new Watchdog.Job(
                List.of("bash", "-c", script),
                Map.of("BEATS", beats.toString()),
                grace,
                Duration.ofSeconds(1),
                Optional.empty());
        try (var elections = Elections.connect("memory:" + folder);
                var candidacy = elections.stand("e", CandidacyConfig.ofLease(LEASE))) {
            var mandate = candidacy.await(PATIENCE).orElseThrow();
            var watchdog = Watchdog.start(job, mandate, Duration.ofMillis(20), uptime);
            until(() -> lines("beats").contains("start"));

            Files.delete(uptime);

            var ended = watchdog.ended().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(ended.code()).isEqualTo(ExitCode.RUN_FAILED);
            assertThat(ended.why()).contains(uptime.toString());
            assertThat(lines("beats")).containsExactly("start", "term");
        }
    }

    /** It would stay told that we lost, and we would renew the seat without anybody who works. */
    @Test
    void commandThatStaysIsEndedWhenWhoTellsItsWatchdogHasFailed() throws Exception {
        var uptime = Files.writeString(folder.resolve("uptime"), Files.readString(Path.of("/proc/uptime")));
        var script = "trap 'echo term >>$BEATS; exit' TERM; trap : USR1 USR2; echo start >>$BEATS;"
                + " while :; do sleep 0.02; done";
        var job = new Watchdog.Job(
                List.of("bash", "-c", script),
                Map.of("BEATS", beats.toString()),
                Duration.ofSeconds(30),
                Duration.ofSeconds(1),
                Optional.of(new Watchdog.Signals("USR1", "USR2")));
        try (var elections = Elections.connect("memory:" + folder);
                var candidacy = elections.stand("e", CandidacyConfig.ofLease(LEASE))) {
            var mandate = candidacy.await(PATIENCE).orElseThrow();
            var watchdog = Watchdog.start(job, mandate, Duration.ofMillis(20), uptime);
            until(() -> lines("beats").contains("start"));

            Files.writeString(uptime, ""); // what reads it throws, as it may anywhere without memory

            var ended = watchdog.ended().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(ended.code()).isEqualTo(ExitCode.RUN_FAILED);
            assertThat(ended.why()).contains("it could not be told until when we lead");
            assertThat(lines("beats")).containsExactly("start", "term");
        }
    }

    @Test
    void tokenOfACommandThatStaysIsNeverSoOldThatItIsTidiedUp() throws Exception {
        var plan = LeasePlan.of(Optional.of(LEASE), Optional.empty());
        var script = "trap : USR1 USR2; echo $BELLWETHER_TOKEN_FILE >$BEATS; exec sleep 600";
        var job = new Watchdog.Job(
                List.of("bash", "-c", script),
                Map.of("BEATS", beats.toString()),
                plan.grace(),
                plan.margin(),
                Optional.of(new Watchdog.Signals("USR1", "USR2")));
        try (var elections = Elections.connect("memory:" + folder);
                var candidacy = elections.stand("e", CandidacyConfig.ofLease(LEASE))) {
            var mandate = candidacy.await(PATIENCE).orElseThrow();
            var watchdog = Watchdog.start(job, mandate, Duration.ofMillis(20));
            until(() -> !lines("beats").isEmpty());
            var token = Path.of(lines("beats").get(0));
            var old = Instant.now().minus(Duration.ofDays(9));

            Files.setLastModifiedTime(token, FileTime.from(old));

            try {
                until(() -> isYoungerThan(token, old.plus(Duration.ofDays(8))));
            } finally {
                watchdog.kill().run();
            }
        }
    }

    private static boolean isYoungerThan(Path file, Instant time) {
        try {
            return Files.getLastModifiedTime(file).toInstant().isAfter(time);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void environmentReachesTheCommandAsItWas() throws Exception {
        var builder =
                builder("e", "--", "env").redirectOutput(folder.resolve("env").toFile());
        builder.environment().put("LC_ALL", "C.UTF-8");
        builder.environment().put("BASH_ENV", "/nonexistent/evil");
        builder.environment().put("BASH_FUNC_greet%%", "() { echo hello; }");
        builder.environment().put("SHELLOPTS", "xtrace");
        var process = builder.start();
        started.add(process);

        assertThat(codeOf(process)).isZero();
        assertThat(lines("env"))
                .contains("LC_ALL=C.UTF-8", "BASH_ENV=/nonexistent/evil", "BASH_FUNC_greet%%=() { echo hello; }");
        assertThat(told(process)).doesNotContain("+ ");
    }

    @Test
    void localeOfTheUserReachesTheCommandIfTheLauncherHasChangedIt() throws Exception {
        for (var was : List.of("=C", "")) {
            var out = folder.resolve("env" + was);
            var builder = builder("e", "--", "env").redirectOutput(out.toFile());
            builder.environment().put("LC_ALL", "C.UTF-8");
            builder.environment().put("JAVA_TOOL_OPTIONS", "-Dbellwether.lcAll=" + was);
            var process = builder.start();
            started.add(process);

            assertThat(codeOf(process)).isZero();
            assertThat(Files.readAllLines(out).stream().filter(line -> line.startsWith("LC_ALL=")))
                    .isEqualTo(was.isEmpty() ? List.of() : List.of("LC_ALL" + was));
        }
    }

    // ---------------------------------------------------------------- what the tests are made of

    private Process run(String... args) throws IOException {
        var line = new ArrayList<>(List.of("run", "--lease", LEASE.toMillis() + "ms", "--grace", "300ms"));
        line.addAll(Arrays.asList(args));
        return bellwether(line.toArray(String[]::new));
    }

    private Process bellwether(String... args) throws IOException {
        var errors = folder.resolve("err-" + started.size());
        var process = command(args).redirectError(errors.toFile()).start();
        started.add(process);
        return process;
    }

    private void standDown() throws IOException, InterruptedException {
        assertThat(codeOf(bellwether("stand-down", "e", "--yes", "--timeout", "30s")))
                .isZero();
    }

    private ProcessBuilder builder(String... args) throws IOException {
        var line = new ArrayList<>(List.of("run", "--lease", LEASE.toMillis() + "ms"));
        line.addAll(Arrays.asList(args));
        return command(line.toArray(String[]::new))
                .redirectError(folder.resolve("err-" + started.size()).toFile());
    }

    private ProcessBuilder command(String... args) {
        var line = Commands.interruptible();
        line.addAll(Arrays.asList(args));
        var builder = new ProcessBuilder(line).redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().put("BELLWETHER_ON", Commands.uri(folder));
        builder.environment().put("BEATS", beats.toString());
        return builder;
    }

    private String told(Process process) {
        return String.join("\n", lines("err-" + started.indexOf(process)));
    }

    private int codeOf(Process process) throws InterruptedException {
        assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .as("ended; it said: %s", told(process))
                .isTrue();
        return process.exitValue();
    }

    private List<String> lines(String name) {
        try {
            var file = folder.resolve(name);
            return Files.exists(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private void until(BooleanSupplier condition) throws InterruptedException {
        var deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadline)
                    .as(
                            "in time; the runs said: %s",
                            started.stream().map(this::told).toList())
                    .isNegative();
            TimeUnit.MILLISECONDS.sleep(10);
        }
    }

    private void untilBeats(int tokens) throws InterruptedException {
        until(() -> beatsByToken().size() >= tokens);
    }

    /** Returns the first and the last sign of life under each token, in milliseconds of a clock that all share. */
    private NavigableMap<Long, long[]> beatsByToken() {
        var found = new TreeMap<Long, long[]>();
        for (var line : lines("beats")) {
            var words = line.split(" ", -1);
            if (words.length == 3 && !words[2].isEmpty()) {
                var millis = Long.parseLong(words[1].replace(".", "")) * 10;
                var span = found.computeIfAbsent(Long.valueOf(words[0]), token -> new long[] {millis, millis});
                span[0] = Math.min(span[0], millis);
                span[1] = Math.max(span[1], millis);
            }
        }
        return found;
    }

    private void assertNoOverlap(int tokens) throws InterruptedException {
        // The clock is coarse: look when the successor has been at work for a while.
        until(() -> {
            var last = beatsByToken().lastEntry().getValue();
            return last[1] - last[0] >= 300;
        });
        var spans = beatsByToken();
        assertThat(spans).hasSize(tokens);
        var before = Long.MIN_VALUE;
        for (var span : spans.values()) {
            assertThat(span[0])
                    .as(Never.mark("two worked at once: first beat, after the last one of the predecessor"))
                    .isGreaterThanOrEqualTo(before);
            before = span[1];
        }
    }

    private void assertNobodyLives() throws IOException {
        assertThat(living()).as("processes of the command that are alive").isEmpty();
    }

    /** An orphan that nobody has collected yet is dead all the same. */
    private List<Long> living() throws IOException {
        var found = new ArrayList<Long>();
        for (var pid : pids()) {
            var stat = Path.of("/proc/" + pid + "/stat");
            if (Files.exists(stat) && !Files.readString(stat).contains(") Z ")) {
                found.add(pid);
            }
        }
        return found;
    }

    private List<Long> pids() throws IOException {
        return lines("beats").stream()
                .map(line -> line.split(" ", -1))
                .filter(words -> words.length == 3 && !words[2].isEmpty())
                .map(words -> Long.valueOf(words[2]))
                .distinct()
                .toList();
    }

    private static long keeperOf(Process run) {
        return keeperOf(run.toHandle());
    }

    private static long keeperOf(ProcessHandle run) {
        return run.children()
                .filter(child -> child.info().commandLine().orElse("").contains("keeper.bash"))
                .findFirst()
                .orElseThrow()
                .pid();
    }

    private static void signal(String name, long pid) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("bash", "-c", "kill -s " + name + " " + pid)
                        .start()
                        .waitFor())
                .isZero();
    }
}
