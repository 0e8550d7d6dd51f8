package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Shows that the simulator finds faults: for each of these, core with one text changed is simulated with the default
 * seeds until an invariant is broken.
 */
@Tag("full") // it tests the simulation, for minutes: ./check seeds
@Tag("seeds")
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // of loops that never end
class PlantedFaultsTest {
    static final Path CORE = Path.of(System.getProperty("bellwether.core.sources", "../core/src/main/java"));
    private static final long SEEDS = Long.getLong(Simulation.SEEDS, 10_000);
    /** A pattern: plants only those faults whose words it is found in. */
    private static final Pattern ONLY = Pattern.compile(System.getProperty("bellwether.plants", ""));

    private static final List<String> TABLE = new ArrayList<>();

    @TempDir
    private Path directory;

    /** One text in one file of core, and what takes its place. */
    record Plant(String fault, String file, String text, String instead) {
        @Override
        public String toString() {
            return fault;
        }
    }

    static Stream<Plant> faults() {
        return all().filter(plant -> ONLY.matcher(plant.fault).find());
    }

    static Stream<Plant> faultsOfSessions() {
        return sessions().filter(plant -> ONLY.matcher(plant.fault).find());
    }

    static Stream<Plant> faultsOfHandOvers() {
        return handOvers().filter(plant -> ONLY.matcher(plant.fault).find());
    }

    private static Stream<Plant> handOvers() {
        return Stream.of(
                new Plant(
                        "others do not hold back for a successor",
                        "internal/election/LeaseSeat.java",
                        "return what.equals(heldBackFor) ? Math.max(0, heldBackUntilNanos - now) : 0;",
                        "return 0;"),
                new Plant(
                        "a successor does not claim when it hears that the seat is vacant",
                        "internal/election/LeaseSeat.java",
                        "} else if (view.holder().isEmpty()) {\n                    claimant",
                        "} else if (view.holder().isEmpty() && !isForUs(view)) {\n                    claimant"),
                new Plant(
                        "the former leader does not hold back",
                        "internal/election/CandidacyMachine.java",
                        "2 * standing.config().retryInterval().toNanos();",
                        "0;"),
                new Plant(
                        "the answer to READY puts off what a leader has to do",
                        "internal/election/LeaseSeat.java",
                        "} else if (done && phase == Phase.WAITING) {",
                        "} else if (done) {"));
    }

    private static Stream<Plant> sessions() {
        return Stream.of(
                new Plant(
                        "a seat taken before its session is ended",
                        "internal/record/ClaimRequest.java",
                        "if (!record.ended() && record.isShared() && !memory.isSessionOver(record)) {",
                        "if (nowNanos != nowNanos) {"),
                new Plant(
                        "a session ended although it was prolonged",
                        "internal/record/SettleRequest.java",
                        "return ending && memory.rules().isUnsettled(known, nowNanos)",
                        "return ending && known.record().isHeld()"),
                new Plant(
                        "a session revived",
                        "internal/record/SeatRules.java",
                        "return isOurs && session.record().kind() == Kind.HELD && session.untilNanos() - nowNanos > 0;",
                        "return true;"),
                new Plant(
                        "the seat of another released in a take-over",
                        "internal/record/SeatRules.java",
                        "boolean mayVacate(boolean isOurs) {\n        return isOurs;",
                        "boolean mayVacate(boolean isOurs) {\n        return true;"),
                new Plant(
                        "a seat joins a session that was not prolonged since its own proof",
                        "internal/record/LeaseSessions.java",
                        "return lives.thenCompose(alive ->",
                        "return CompletableFuture.completedFuture(true).thenCompose(alive ->"));
    }

    static Stream<Plant> all() {
        return Stream.of(
                new Plant(
                        "the deadline of a grant counted from the response",
                        "internal/election/LeaseSeat.java",
                        "claimant.granted(token, new Proof(sent, standing.config().lease()));",
                        "claimant.granted(token, new Proof(loop.clock().now(), standing.config().lease()));"),
                new Plant(
                        "the deadline of a renewal counted from the response",
                        "internal/election/LeaseSeat.java",
                        "claimant.proven(held, new Proof(sent, config.lease()));",
                        "claimant.proven(held, new Proof(loop.clock().now(), config.lease()));"),
                new Plant(
                        "the lease extended on an unknown outcome",
                        "internal/election/LeaseSeat.java",
                        "claimant.attempted(Attempt.MISSED, latency(sent));",
                        "claimant.proven(held, new Proof(sent, config.lease()));"),
                new Plant(
                        "the seat released before the listener returned",
                        "internal/election/CandidacyMachine.java",
                        "seat.concede(within);",
                        "seat.release();"),
                new Plant(
                        "isLeader() by phase alone",
                        "internal/election/LoopCandidacy.java",
                        "return mandate != null && mandate.isValid();",
                        "return mandate != null;"),
                new Plant(
                        "another's timestamp believed",
                        "internal/election/LeaseSeat.java",
                        "private void standBy(View view) {",
                        "private void standBy(View view) {"
                                + " if (view.holder().isPresent() && loop.clock().wallMillis()"
                                + " > view.holder().get().since().toEpochMilli() + standing.config().lease().toMillis())"
                                + " giveBack(withNonce(view.holder().get().nonce()));"),
                new Plant(
                        "an old grant applied after a newer loss",
                        "internal/election/LeaseSeat.java",
                        "if (mine != attempt || (phase != Phase.CLAIMING && phase != Phase.RESOLVING)) {",
                        "if (phase != Phase.CLAIMING && phase != Phase.RESOLVING && phase != Phase.WAITING) {"),
                new Plant(
                        "the token not raised when the same candidate comes back",
                        "memory/MemoryLeaseStore.java",
                        "seat.token = claim.tokenAfter(seat.token);",
                        "if (seat.holder == null || !seat.holder.candidate().equals(claim.candidate())) seat.token = claim.tokenAfter(seat.token);"),
                new Plant(
                        "a clock jump ignored",
                        "internal/election/Validity.java",
                        "&& wallMillis < wallDeadlineMillis",
                        ""),
                new Plant(
                        "a mandate that was seen over valid again once the wall clock is back",
                        "internal/election/LocalMandate.java",
                        "validity.compareAndSet(v, null); // if",
                        "return false; // if"),
                new Plant(
                        "the stand-down budget not taken off the deadline",
                        "internal/election/Validity.java",
                        "var usable = guarantee - drift - standDownBudget.toNanos();",
                        "var usable = guarantee - drift;"),
                new Plant(
                        "drift ignored",
                        "internal/election/Validity.java",
                        "var usable = guarantee - drift - standDownBudget.toNanos();",
                        "var usable = guarantee - standDownBudget.toNanos();"),
                new Plant(
                        "work taken for ended while a step of the task is running",
                        "internal/election/LoopCandidacy.java",
                        "return events.idle() && work.idle();",
                        "return events.idle();"),
                new Plant(
                        "a fenced candidate goes on renewing while its work hangs",
                        "internal/election/LeaseSeat.java",
                        "private void renewNoMore() {\n        become(Phase.CONCEDING);",
                        "private void renewNoMore() {"),
                new Plant(
                        "a renewal without an answer taken for a refusal",
                        "internal/election/LeaseSeat.java",
                        "claimant.attempted(Attempt.MISSED, latency(sent));",
                        "claimant.lost(held, Cause.UNREACHABLE);"),
                new Plant(
                        "a claim that was read back given back when its answer comes late",
                        "internal/election/LeaseSeat.java",
                        "if (answer != null && answer.granted() && !held) {",
                        "if (answer != null && answer.granted()) {"),
                new Plant(
                        "any holder taken for ourselves when a claim is read back",
                        "internal/election/LeaseSeat.java",
                        "} else if (view.heldUnder(asked.nonce())) {\n                prove(asked, view.token());",
                        "} else if (view.holder().isPresent()) {\n                won(view, sent);"),
                new Plant(
                        "a claim believed that was only read",
                        "internal/election/LeaseSeat.java",
                        "prove(asked, view.token());",
                        "won(view, sent);"),
                new Plant(
                        "a release without an answer waited for, forever",
                        "internal/election/LeaseSeat.java",
                        "released(false); // no answer",
                        "// no answer"),
                new Plant(
                        "a candidate that stands aside claims on while nobody answers",
                        "internal/election/LeaseSeat.java",
                        "given up\n        if (wanted) {",
                        "given up\n        if (attempt > 0) {"),
                new Plant(
                        "a suspension while standing down not noticed",
                        "internal/election/CandidacyMachine.java",
                        "|| now.wallMillis() >= hardEndWallMillis",
                        ""),
                new Plant(
                        "a step of the task begun without looking at the mandate",
                        "internal/election/LoopCandidacy.java",
                        "if (mandate.isValid()) {",
                        "if (true) {"),
                new Plant(
                        "the lease renewed too rarely",
                        "internal/election/Timings.java",
                        "return Math.floorDiv(sentNanos + interval, width) * width;",
                        "return sentNanos + 3 * interval;"),
                new Plant(
                        "two copies of a process claim under one nonce",
                        "internal/election/LeaseSeat.java",
                        "+ '.' + Long.toHexString(chance);",
                        "+ (chance == 0 ? \".\" : \"\");"),
                new Plant(
                        "the claim of a copy given back as if it were our own",
                        "internal/election/LeaseSeat.java",
                        "&& sentNonces.contains(view.holder().get().nonce());",
                        "&& view.holder().get().nonce().startsWith(standing.instance());"),
                new Plant(
                        "the end of an election believed from a notice",
                        "internal/election/LeaseSeat.java",
                        "confirm(); // a candidate that holds back is told, too",
                        "over();"),
                new Plant(
                        "a leader obeys a notice without having read the seat",
                        "internal/election/LeaseSeat.java",
                        "if (view.token() > token || endedFor(view) || (view.standDown() && view.token() == token)) {",
                        "apply(view); if (phase == Phase.HOLDING && view.token() > token) {"),
                new Plant(
                        "a leader hands over though nobody is ready",
                        "internal/election/LeaseSeat.java",
                        "} else if (isReady(view) && view.token() == token) {",
                        "} else if (view.handOver().isPresent() && view.token() == token) {"),
                new Plant(
                        "a leader hands over by a notice without having read the seat",
                        "internal/election/LeaseSeat.java",
                        "} else if (view.token() == token && isReady(view)) {\n                    confirm();",
                        "} else if (view.token() == token && isReady(view)) {\n                    apply(view);"),
                new Plant(
                        "a notice puts the next claim off",
                        "internal/election/LeaseSeat.java",
                        "if (loop.clock().nanos() + wait - timerNanos < 0) {",
                        "wait = Math.max(wait, view.remaining().toNanos());" + " if (wait > 0) {"),
                new Plant(
                        "a standby believes a lease of hours",
                        "internal/election/Timings.java",
                        "view.remaining().compareTo(config.lease()) < 0 ? view.remaining() : config.lease()",
                        "view.remaining()"),
                new Plant(
                        "a listener that comes later lets one more row of steps begin",
                        "internal/election/LoopCandidacy.java",
                        " || nextStep != null",
                        ""),
                new Plant(
                        "a task that threw runs again at once",
                        "internal/loop/TaskEnd.java",
                        "return failure == null || due - again > 0 ? due : again;",
                        "return due;"),
                new Plant(
                        "a turn that threw is forgotten",
                        "internal/loop/GuardedLoop.java",
                        "thrown = e;",
                        "thrown = null;"),
                new Plant(
                        "a recovery that threw is not tried again",
                        "internal/loop/GuardedLoop.java",
                        "return false;",
                        "thrown = null; return false;"),
                new Plant(
                        "the end of a task that could not be told is never found",
                        "internal/loop/SerialExecutor.java",
                        "if (piece != null && piece.finished) {",
                        "if (piece != null && piece.finished && piece.queuedNanos < 0) {"));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void isFound(Plant plant) throws IOException {
        isFound(plant, ChaosRun.class, 2 * SEEDS); // one of them shows in world 10517
    }

    @ParameterizedTest
    @MethodSource("faultsOfSessions")
    void isFoundWhereSeatsShareSessions(Plant plant) throws IOException {
        isFound(plant, SessionChaosRun.class, SEEDS);
    }

    @ParameterizedTest
    @MethodSource("faultsOfHandOvers")
    void isFoundWhereSeatsAreHandedOver(Plant plant) throws IOException {
        isFound(plant, HandOverRun.class, SEEDS);
    }

    private void isFound(Plant plant, Class<? extends LongFunction<String[]>> runner, long seeds) throws IOException {
        var began = System.nanoTime();
        var found = simulate(compile(plant, directory), runner, seeds);
        assertThat(found)
                .as("\"%s\" was not found in %s seeds: %s", plant.fault, seeds, found[0])
                .hasSizeGreaterThan(1);
        TABLE.add(String.format(
                Locale.ROOT,
                "| %s | %s | %s | %.1f |",
                plant.fault,
                found[0],
                found[1],
                (System.nanoTime() - began) / 1e9));
    }

    @Test
    void coreAsItIsPassesWhenItIsLoadedTheSameWay() throws IOException {
        var found = simulate(compile(new Plant("", "", "", ""), directory), ChaosRun.class, Math.min(500, SEEDS));
        assertThat(found).as(found[found.length - 1]).hasSize(1);
    }

    @AfterAll
    static void print() throws IOException {
        print("planted-faults.md", List.of("fault", "found by seed", "the invariant that it breaks", "seconds"), TABLE);
    }

    /** Writes a table of what was found into the module's target, and prints it. */
    static void print(String file, List<String> columns, List<String> rows) throws IOException {
        var table = "| " + String.join(" | ", columns) + " |\n|" + "---|".repeat(columns.size()) + "\n"
                + String.join("\n", rows) + "\n";
        System.out.println(table);
        Files.writeString(Path.of("target", file), table);
    }

    /**
     * Compiles the one file of core with the fault in it, and returns where its classes are; all others stay as they
     * are.
     */
    static Path compile(Plant plant, Path directory) throws IOException {
        var classes = Files.createDirectories(directory.resolve("classes"));
        if (plant.file.isEmpty()) {
            return classes;
        }
        var relative = "dev/bellwether/" + plant.file;
        var text = Files.readString(CORE.resolve(relative));
        assertThat(text.split(Pattern.quote(plant.text), -1))
                .as("where to plant \"%s\": the text must occur once in %s", plant.fault, plant.file)
                .hasSize(2);
        var copy = directory.resolve("sources").resolve(relative);
        Files.createDirectories(copy.getParent());
        Files.writeString(copy, text.replace(plant.text, plant.instead));
        var options = List.of(
                "-d", classes.toString(), "-proc:none", "-nowarn", "-cp", System.getProperty("java.class.path"));
        var compiler = ToolProvider.getSystemJavaCompiler();
        try (var manager = compiler.getStandardFileManager(null, null, null)) {
            var complaints = new StringWriter();
            var compiled = compiler.getTask(complaints, manager, null, options, null, manager.getJavaFileObjects(copy))
                    .call();
            assertThat(compiled).as(complaints.toString()).isTrue();
        }
        return classes;
    }

    /** Runs this over the classes, by its name: it is loaded again. */
    static String[] simulate(Path classes, Class<? extends LongFunction<String[]>> runner, long seeds)
            throws IOException {
        try (var loader = new OwnCore(classes)) {
            @SuppressWarnings("unchecked") // it implements just this
            var run = (LongFunction<String[]>)
                    loader.loadClass(runner.getName()).getDeclaredConstructor().newInstance();
            return run.apply(seeds);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot run the simulation over " + classes, e);
        }
    }

    /**
     * Loads what is in a directory, and the rest of core and the simulator and its chaos again beside it; all else as
     * usual.
     */
    private static final class OwnCore extends URLClassLoader {
        private OwnCore(Path core) {
            super(
                    new URL[] {url(core.toUri()), home(Elections.class), home(Simulation.class), home(ChaosRun.class)},
                    OwnCore.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                if (!name.startsWith("dev.bellwether.")) {
                    return super.loadClass(name, resolve);
                }
                var loaded = findLoadedClass(name);
                return loaded != null ? loaded : findClass(name);
            }
        }

        private static URL home(Class<?> type) {
            return type.getProtectionDomain().getCodeSource().getLocation();
        }

        private static URL url(URI uri) {
            try {
                return uri.toURL();
            } catch (MalformedURLException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
