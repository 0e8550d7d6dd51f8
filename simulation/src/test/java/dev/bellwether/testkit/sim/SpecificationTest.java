package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The specifications in {@code docs/spec}: they hold, allow something, and need each of their rules. */
@Tag("specification")
@Execution(ExecutionMode.CONCURRENT)
class SpecificationTest {
    private static final List<String> HELD = Collections.synchronizedList(new ArrayList<>());
    private static final List<String> FOUND = Collections.synchronizedList(new ArrayList<>());
    private static final DoubleAdder SECONDS = new DoubleAdder();

    @TempDir
    private Path directory;

    /**
     * One run of TLC.
     *
     * @param what is specified, or the rule that is switched off
     * @param settings what differs from the {@code .cfg} of the module
     */
    private record Run(String module, String what, Map<String, String> settings) {
        static Run of(String module, String what, String... settings) {
            return new Run(module, what, map(settings));
        }

        private static Map<String, String> map(String... settings) {
            var map = new TreeMap<String, String>();
            for (var setting : settings) {
                var equals = setting.indexOf('=');
                map.put(setting.substring(0, equals), setting.substring(equals + 1));
            }
            return map;
        }

        Run broken() {
            var all = new TreeMap<>(settings);
            all.put("Break", '"' + what + '"');
            return new Run(module, what, all);
        }

        Run finding(String invariant) {
            var all = new TreeMap<>(settings);
            all.put("INVARIANTS", invariant);
            return new Run(module, what, all);
        }

        @Override
        public String toString() {
            return module + ": " + what;
        }
    }

    /** As in each .cfg: time must not come to this end before all states are seen. */
    private static final int HORIZON = 60;

    // Leases so short that there is no time to spare.
    private static final String[] TIGHT = {"Budget=0", "L=2", "Drift=0"};
    // Where one leads, and its session was made: states that are sought below, as possible.
    private static final String LED = "Begins=\"led\"";
    private static final String JOINED = "Begins=\"joined\""; // and its seat is kept by that
    private static final String RENEWED =
            "Begins=\"renewed\""; // or was renewed by itself, after others saw the session
    private static final String LEFT = "Begins=\"left\""; // or has left the session again, after others saw it there
    private static final String[] WORKS = {"Budget=1", "L=3", "Drift=0"};

    static Stream<Run> specifications() {
        return Boolean.getBoolean("bellwether.spec.large") ? Stream.concat(small(), large()) : small();
    }

    private static Stream<Run> small() {
        return Stream.of(
                Run.of("Deadline", "drift, renewals, orders to stand down, work that takes time"),
                Run.of("Deadline", "drift, suspension", "L=2", "Budget=0", "MaxK=1", "Sleep=1"),
                Run.of("RecordSeat", "drift", "MaxK=1"),
                Run.of("RecordSeat", "drift, suspension", "MaxK=1", "Sleep=1"),
                Run.of("RecordSeat", "two writes each", "Drift=0"),
                Run.of("RecordSeat", "concessions, and work that takes time", WORKS),
                Run.of("RecordSeat", "old readings, and an order", "Drift=0", "MaxK=1", "Stale=TRUE", "MaxOrders=1"),
                Run.of("RecordSeat", "a key that vanishes", "Drift=0", "MaxK=1", "Drops=1"),
                Run.of("RecordSeat", "a seat moved from under a late claim", "Drift=0", "Moves=TRUE"),
                Run.of("Sessions", "a seat joins a session, and is taken from it", "MaxR=1"),
                Run.of("KafkaLog", "checkpoints, retention, resets: three records", "MaxLog=3"),
                Run.of("KafkaLog", "the same, and resets that are late", "MaxLog=3", "LateResets=TRUE"),
                Run.of("Journal", "a beat each", "Drift=0"));
    }

    /** They take a minute or more. */
    private static Stream<Run> large() {
        return Stream.of(
                Run.of("Deadline", "drift, suspension, set clocks", "L=2", "Budget=0", "MaxK=1", "Sleep=1", "Sets={1}"),
                Run.of("RecordSeat", "drift, suspension, set clocks", "MaxK=1", "Sleep=1", "Sets={1}"),
                Run.of("Sessions", "a session that is prolonged"),
                Run.of("Sessions", "drift", "Drift=1", "MaxR=1"),
                Run.of("KafkaLog", "checkpoints, retention, resets: four records", "MaxLog=4"),
                Run.of("Journal", "drift, a beat each"));
    }

    static Stream<Run> possible() {
        var late = Run.of("KafkaLog", "a leader after a reset", "MaxLog=6").finding("NobodyLeadsAgain");
        return Stream.concat(
                possibleSoon(), Boolean.getBoolean("bellwether.spec.large") ? Stream.of(late) : Stream.empty());
    }

    private static Stream<Run> possibleSoon() {
        return Stream.of(
                Run.of("Deadline", "a second leader").finding("NobodyFollows"),
                Run.of("RecordSeat", "a second leader").finding("NobodyFollows"),
                Run.of("RecordSeat", "a second leader, after an order", "Drift=0", "MaxOrders=1")
                        .finding("NobodyFollowsAnOrder"),
                Run.of("Sessions", "a second leader, after the end of a session", "MaxR=1")
                        .finding("NobodyFollows"),
                Run.of("Sessions", "a leader that has a session").finding("NotLed"),
                Run.of("Sessions", "a leader whose seat is kept by its session").finding("NotJoined"),
                Run.of("Sessions", "a leader that renewed its seat by itself", LED)
                        .finding("NotRenewed"),
                Run.of("Sessions", "a leader whose seat has left its session", JOINED, "MaxK=3")
                        .finding("NotLeft"),
                Run.of("KafkaLog", "a reader that learns the state from a checkpoint")
                        .finding("NobodyLearns"),
                Run.of("Journal", "a leader after another").finding("NobodyFollows"));
    }

    static Stream<Run> planted() {
        return Stream.concat(found(), Boolean.getBoolean("bellwether.spec.large") ? foundLate() : Stream.empty())
                .map(Run::broken);
    }

    private static Stream<Run> found() {
        return Stream.of(
                Run.of("Deadline", "phase alone", TIGHT),
                Run.of("Deadline", "drift ignored", "Budget=0", "L=2"),
                Run.of("Deadline", "budget not taken off", WORKS),
                Run.of("Deadline", "suspension ignored", "Budget=0", "L=2", "Drift=0", "Sleep=2"),
                Run.of("Deadline", "grant counted from the answer", TIGHT),
                Run.of("Deadline", "renewal counted from the answer", "Budget=0", "L=3", "Drift=0"),
                Run.of("Deadline", "unknown taken for success", TIGHT),
                Run.of("Deadline", "any answer", TIGHT),
                Run.of("Deadline", "released before the work", WORKS),
                Run.of("Deadline", "suspension while standing down", "L=3", "Budget=2", "Drift=0", "Sleep=2"),
                Run.of("Deadline", "token not raised", TIGHT),
                Run.of("RecordSeat", "drift ignored", "MaxK=1"),
                Run.of("RecordSeat", "budget not taken off", WORKS),
                Run.of("RecordSeat", "free at first sight", "Drift=0"),
                Run.of("RecordSeat", "absent is free", "Drift=0", "Drops=1"),
                Run.of("RecordSeat", "absent is free after a lease", "Drift=0", "Drops=1"),
                Run.of("RecordSeat", "released before the work", WORKS),
                Run.of("RecordSeat", "written whatever is there", "Drift=0"),
                Run.of("RecordSeat", "token not raised", "Drift=0"),
                Run.of("RecordSeat", "an order shortens the lease", "Budget=1", "L=3", "Drift=0", "MaxOrders=1"),
                Run.of("RecordSeat", "counted from the answer", "Drift=0"),
                Run.of("RecordSeat", "whatever has our name is ours", "Drift=0"),
                Run.of("RecordSeat", "a reading taken for a proof", "Drift=0"),
                Run.of("RecordSeat", "known by its stamp alone", "Drift=0", "Drops=1"),
                Run.of("Sessions", "drift ignored", "Drift=1", "MaxR=1"),
                Run.of("Sessions", "proves a seat that has not joined"),
                Run.of("Sessions", "ended without a wait", JOINED),
                Run.of("Sessions", "counted from the answer", JOINED),
                Run.of("Sessions", "an unanswered write forgotten", JOINED, "MaxK=3"),
                Run.of("Sessions", "joins a session that is older than its own proof", RENEWED, "MaxK=3"),
                Run.of("Sessions", "a session revived", LEFT, "MaxK=4"),
                Run.of("KafkaLog", "open at once"),
                Run.of("KafkaLog", "settled without a wait", "MaxLog=4"),
                Run.of("KafkaLog", "starts at any checkpoint"),
                Run.of("KafkaLog", "taken for empty"),
                Run.of("KafkaLog", "goes on behind a gap"),
                Run.of("KafkaLog", "starts at any reset", "MaxLog=3", "LateResets=TRUE"),
                Run.of("Journal", "drift ignored"),
                Run.of("Journal", "earlier claims bar nobody", "Drift=0"),
                Run.of("Journal", "a gap bars nobody", "Drift=0", "MaxGaps=1"),
                Run.of("Journal", "released while leading", "Drift=0"),
                Run.of("Journal", "counted from the reading", "Drift=0"),
                Run.of("Journal", "a beat counts behind another claim", "Drift=0", "MaxLog=4"));
    }

    /** They take more than some seconds. */
    private static Stream<Run> foundLate() {
        return Stream.of(
                Run.of("Deadline", "slack while standing down", "L=4", "Budget=2", "Sleep=2"),
                Run.of("Sessions", "the seat taken before its session is ended"));
    }

    @ParameterizedTest
    @MethodSource("specifications")
    void holds(Run run) throws IOException {
        var outcome = new Tlc(directory).check(run.module, run.settings);
        System.out.printf(
                Locale.ROOT,
                "%s: %,d states, %d steps, %.1f s%n",
                run,
                outcome.distinct(),
                outcome.depth(),
                outcome.seconds());
        HELD.add(String.format(
                Locale.ROOT,
                "| %s | %s | %,d | %d | %.0f |",
                run.module,
                run.what,
                outcome.distinct(),
                outcome.depth(),
                outcome.seconds()));
        SECONDS.add(outcome.seconds());
        assertThat(outcome.violated()).as(outcome.output()).isEmpty();
        assertThat(outcome.depth())
                .as("time may not have come to its end first")
                .isBetween(1L, HORIZON - 1L);
    }

    @ParameterizedTest
    @MethodSource("possible")
    void allows(Run run) throws IOException {
        var outcome = new Tlc(directory).check(run.module, run.settings);
        System.out.printf(Locale.ROOT, "%s is possible, %.1f s%n", run, outcome.seconds());
        SECONDS.add(outcome.seconds());
        assertThat(outcome.violated()).as(run.toString()).contains(run.settings.get("INVARIANTS"));
    }

    @ParameterizedTest
    @MethodSource("planted")
    void needsItsRule(Run run) throws IOException {
        var outcome = new Tlc(directory).check(run.module, run.settings);
        var steps = outcome.output()
                        .lines()
                        .filter(line -> line.startsWith("State "))
                        .count()
                - 1;
        System.out.printf(
                Locale.ROOT,
                "%s: %s after %d steps, %,d states, %.1f s%n",
                run,
                outcome.violated().orElse("NOT FOUND"),
                steps,
                outcome.distinct(),
                outcome.seconds());
        assertThat(outcome.violated()).as(run + " was not found").isPresent();
        SECONDS.add(outcome.seconds());
        FOUND.add(String.format(
                Locale.ROOT,
                "| %s | %s | %s | %,d | %d |",
                run.module,
                run.what,
                outcome.violated().get(),
                outcome.distinct(),
                steps));
    }

    @AfterAll
    static void print() throws IOException {
        Collections.sort(HELD);
        Collections.sort(FOUND);
        System.out.printf(Locale.ROOT, "specification: %.0f s of TLC in all, two at a time%n", SECONDS.sum());
        var table = "| module | bounds | states | steps | seconds |\n|---|---|--:|--:|--:|\n" + String.join("\n", HELD)
                + "\n\n| module | rule that was switched off | breaks | states until then | steps |\n"
                + "|---|---|---|--:|--:|\n" + String.join("\n", FOUND) + "\n";
        Files.writeString(Path.of("target", "specification.md"), table);
    }
}
