package dev.bellwether.testkit.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The specifications in {@code docs/spec}: they hold, allow something, and need each of their rules. */
@Tag("specification")
class SpecificationTest {
    private static final List<String> HELD = new ArrayList<>();
    private static final List<String> FOUND = new ArrayList<>();

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

    // What is so small that a rule is still needed in it.
    private static final String[] TIGHT = {"Budget=0", "L=3", "Horizon=5", "Drift=0"};
    private static final String[] ASLEEP = {"Budget=0", "L=2", "Horizon=4", "Drift=0", "Sleep=2"};

    static Stream<Run> specifications() {
        return Boolean.getBoolean("bellwether.spec.large") ? large() : small();
    }

    /** They take minutes or hours; no run of these has come to its end yet. */
    private static Stream<Run> large() {
        return Stream.of(
                Run.of("Deadline", "drift", "L=2", "Budget=0", "Horizon=3"),
                Run.of("Deadline", "work that takes time", "Drift=0", "L=3", "Budget=1", "Horizon=4", "MaxK=1"),
                Run.of("Deadline", "drift, and three requests each", "MaxK=3", "Horizon=7"),
                Run.of("Deadline", "drift, suspension and set clocks", "Sleep=1", "Sets={1}"),
                Run.of("Deadline", "three candidates", "Candidates={a, b, c}", "Clocked={a, b, c, Server}", "MaxK=1"),
                Run.of("RecordSeat", "drift, and three requests each", "MaxK=3", "Horizon=5"),
                Run.of("RecordSeat", "drift, old readings, an order", "Stale=TRUE", "MaxOrders=1"),
                Run.of("RecordSeat", "drift, keys that vanish", "Drops=TRUE", "MaxK=3"),
                Run.of("Sessions", "a seat joins a session, and is taken from it", "Horizon=3"),
                Run.of("Sessions", "drift", "Drift=1"),
                Run.of("Sessions", "a seat that leaves its session", "MaxK=3"),
                Run.of("KafkaLog", "checkpoints, retention, resets", "MaxLog=4", "Horizon=1"),
                Run.of("KafkaLog", "two that come later", "New={2, 3}"),
                Run.of("KafkaLog", "seven records", "MaxLog=7"),
                Run.of("Journal", "two members", "Drift=0", "Horizon=3", "MaxLog=3"),
                Run.of("Journal", "drift, two claims each", "MaxN=2", "MaxLog=5"),
                Run.of("Journal", "drift, and a gap", "MaxGaps=1", "MaxLog=5"));
    }

    private static Stream<Run> small() {
        return Stream.of(
                Run.of("RecordSeat", "renewals", "Drift=0", "Horizon=3"),
                Run.of("RecordSeat", "drift", "Horizon=2", "MaxK=1"),
                Run.of(
                        "RecordSeat",
                        "old readings, and an order",
                        "Drift=0",
                        "Horizon=3",
                        "MaxK=1",
                        "Stale=TRUE",
                        "MaxOrders=1"));
    }

    static Stream<Run> possible() {
        return Stream.of(
                Run.of("Deadline", "a second leader").finding("NobodyFollows"),
                Run.of("RecordSeat", "a second leader").finding("NobodyFollows"),
                Run.of("RecordSeat", "a second leader, after an order", "Drift=0", "MaxOrders=1")
                        .finding("NobodyFollowsAnOrder"),
                Run.of("Sessions", "a second leader, after the end of a session")
                        .finding("NobodyFollows"),
                Run.of("KafkaLog", "a reader that learns the state from a checkpoint")
                        .finding("NobodyLearns"),
                Run.of("KafkaLog", "a leader after a reset", "MaxLog=6").finding("NobodyLeadsAgain"),
                Run.of("Journal", "a leader after another").finding("NobodyFollows"));
    }

    static Stream<Run> planted() {
        return Stream.concat(found(), Boolean.getBoolean("bellwether.spec.large") ? sought() : Stream.empty())
                .map(Run::broken);
    }

    private static Stream<Run> found() {
        return Stream.of(
                Run.of("Deadline", "phase alone", TIGHT),
                Run.of("Deadline", "drift ignored", "Budget=0", "L=2", "Horizon=4"),
                Run.of("Deadline", "budget not taken off"),
                Run.of("Deadline", "suspension ignored", ASLEEP),
                Run.of("Deadline", "grant counted from the answer", TIGHT),
                Run.of("Deadline", "renewal counted from the answer", TIGHT),
                Run.of("Deadline", "unknown taken for success", TIGHT),
                Run.of("Deadline", "any answer", TIGHT),
                Run.of("Deadline", "released before the work"),
                Run.of("Deadline", "token not raised"),
                Run.of("RecordSeat", "drift ignored"),
                Run.of("RecordSeat", "budget not taken off", "Drift=0", "L=3", "Budget=1", "Horizon=5"),
                Run.of("RecordSeat", "free at first sight"),
                Run.of("RecordSeat", "absent is free", "Drift=0", "Drops=TRUE"),
                Run.of("RecordSeat", "absent is free after a lease", "Drift=0", "Drops=TRUE"),
                Run.of("RecordSeat", "released before the work", "Drift=0", "L=3", "Budget=1", "Horizon=5"),
                Run.of("RecordSeat", "written whatever is there"),
                Run.of("RecordSeat", "token not raised"),
                Run.of(
                        "RecordSeat",
                        "an order shortens the lease",
                        "Drift=0",
                        "L=3",
                        "Budget=1",
                        "Horizon=5",
                        "MaxOrders=1"),
                Run.of("RecordSeat", "counted from the answer", "Drift=0"),
                Run.of("RecordSeat", "whatever has our name is ours"),
                Run.of("RecordSeat", "a reading taken for a proof", "Drift=0"),
                Run.of("Sessions", "drift ignored", "Drift=1"),
                Run.of("Sessions", "proves a seat that has not joined"),
                Run.of("KafkaLog", "open at once"),
                Run.of("KafkaLog", "starts at any checkpoint"),
                Run.of("KafkaLog", "taken for empty"),
                Run.of("KafkaLog", "goes on behind a gap"),
                Run.of("Journal", "drift ignored"),
                Run.of("Journal", "earlier claims bar nobody", "Drift=0"),
                Run.of("Journal", "a gap bars nobody", "Drift=0", "MaxGaps=1"),
                Run.of("Journal", "released while leading", "Drift=0"),
                Run.of("Journal", "counted from the reading", "Drift=0"));
    }

    /** Not found in twelve seconds, and not sought for longer yet. */
    private static Stream<Run> sought() {
        return Stream.of(
                Run.of("Deadline", "suspension while standing down", "Drift=0", "Sleep=2"),
                Run.of("Deadline", "slack while standing down", "Sleep=2"),
                Run.of("RecordSeat", "known by its stamp alone", "Drift=0", "Drops=TRUE"),
                Run.of("Sessions", "the seat taken before its session is ended"),
                Run.of("Sessions", "joins a session that is older than its own proof", "MaxK=3"),
                Run.of("Sessions", "a session revived", "MaxK=4", "MaxR=3"),
                Run.of("Sessions", "an unanswered write forgotten", "MaxK=3"),
                Run.of("Sessions", "counted from the answer"),
                Run.of("Sessions", "ended without a wait"),
                Run.of("KafkaLog", "settled without a wait"),
                Run.of("KafkaLog", "starts at any reset"),
                Run.of("Journal", "a beat counts behind another claim", "Drift=0"));
    }

    @ParameterizedTest
    @MethodSource("specifications")
    void holds(Run run) throws IOException {
        var outcome = new Tlc(directory).check(run.module, run.settings);
        System.out.printf(Locale.ROOT, "%s: %,d states, %.1f s%n", run, outcome.distinct(), outcome.seconds());
        HELD.add(String.format(
                Locale.ROOT, "| %s | %s | %,d | %.0f |", run.module, run.what, outcome.distinct(), outcome.seconds()));
        assertThat(outcome.violated()).as(outcome.output()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("possible")
    void allows(Run run) throws IOException {
        var outcome = new Tlc(directory).check(run.module, run.settings);
        System.out.printf(Locale.ROOT, "%s is possible, %.1f s%n", run, outcome.seconds());
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
        FOUND.add(String.format(
                "| %s | %s | %s | %d |",
                run.module, run.what, outcome.violated().get(), steps));
    }

    @AfterAll
    static void print() throws IOException {
        var table = "| module | what | states | seconds |\n|---|---|---|---|\n" + String.join("\n", HELD)
                + "\n\n| module | rule switched off | breaks | steps |\n|---|---|---|---|\n" + String.join("\n", FOUND)
                + "\n";
        Files.writeString(Path.of("target", "specification.md"), table);
    }
}
