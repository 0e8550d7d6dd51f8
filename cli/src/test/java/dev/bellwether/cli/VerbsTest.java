package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.Elections;
import dev.bellwether.RosterConfig;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.look.RolesCommand;
import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class VerbsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String uri = "memory:" + UUID.randomUUID();
    private final Map<String, String> environment = Map.of("BELLWETHER_ON", uri, "TERM", "xterm");
    private Elections elections = Elections.connect(uri);

    @TempDir
    Path folder;

    @BeforeEach
    void connect() {
        elections = Elections.connect(uri);
    }

    @AfterEach
    void close() {
        elections.close();
    }

    /** Of the verbs that stand nothing waits for a slow reader, and lines may be missing; of the others none may. */
    @Test
    void anElectionThatIsCalledLikeAVerbIsNone() {
        assertThat(Main.verb("watch", "reap", "--json")).isEqualTo("watch");
        assertThat(Main.verb("--verbose", "serve", "run")).isEqualTo("serve");
        assertThat(Main.verb("--help")).isEmpty();
    }

    @Test
    void lsShowsWhoLeadsWhat() throws Exception {
        lead("billing", "ann");
        elections.stand("billing", CandidacyConfig.builder().candidate("bob").build());
        lead("nightly", "cyd").close();

        var spoken = Spoken.of(environment, "ls");

        assertThat(spoken.code()).isZero();
        assertThat(spoken.err()).isEmpty();
        assertThat(spoken.out().lines().map(line -> line.split(" +", -1)))
                .satisfiesExactly(
                        head -> assertThat(head).containsExactly("ELECTION", "TOKEN", "FOR", "LEADER"),
                        first -> assertThat(String.join(" ", first)).matches("billing 1 \\d+s ann"),
                        second -> assertThat(second).containsExactly("nightly", "-", "-", "(nobody)"));
    }

    @Test
    void lsTakesAPattern() throws Exception {
        for (var name : List.of("billing", "billing-eu", "nightly")) {
            lead(name, "ann");
        }
        var found = Spoken.of(environment, "ls", "--json", "billing-*").json().get("elections");
        assertThat(found).hasSize(1);
        assertThat(found.get(0).get("election").asText()).isEqualTo("billing-eu");
        assertThat(Spoken.of(environment, "ls", "?ightly").out())
                .contains("nightly")
                .doesNotContain("billing");
        assertThat(Spoken.of(environment, "ls", "b.lling").err()).contains("No election is called 'b.lling'");
    }

    @Test
    void lsHasTheTimeForEachElection() throws Exception {
        for (var i = 0; i < 120; i++) {
            elections.election("e-" + i).end();
        }
        var link = LinkedStores.link(name());
        link.delay(Duration.ofMillis(10)); // each way

        var spoken = Spoken.of(environment, "ls", "--json", "--on", "linked:" + name(), "--timeout", "2s");

        assertThat(spoken.code()).as(spoken.err()).isZero();
        assertThat(spoken.json().get("elections")).hasSize(120);
    }

    @Test
    void lsTakesCharactersOutsideTheBasicPlane() throws Exception {
        lead("\uD83D\uDE00-billing", "ann");

        for (var pattern : List.of("\uD83D\uDE00*", "?-billing")) {
            assertThat(Spoken.of(environment, "ls", pattern).out()).as(pattern).contains("-billing");
        }
    }

    @Test
    void lsAsJsonIsOneDocument() throws Exception {
        lead("billing", "ann");
        lead("nightly", "cyd").close();

        var found = Spoken.of(environment, "ls", "--json").json().get("elections");

        assertThat(found).hasSize(2);
        assertThat(found.get(0).get("election").asText()).isEqualTo("billing");
        assertThat(found.get(0).get("leader").get("candidate").asText()).isEqualTo("ann");
        assertThat(found.get(0).get("leader").get("token").asLong()).isEqualTo(1);
        assertThat(found.get(1).get("leader").isNull()).isTrue();
    }

    @Test
    void jsonIsTheSameInEveryLocale() throws Exception {
        var file = Commands.uri(folder);
        try (var there = Elections.connect(file);
                var leader = there.stand("münchen")) {
            assertThat(leader.await(Duration.ofSeconds(10))).isPresent();
            var line = Commands.java();
            line.addAll(List.of("ls", "--json", "--on", file));
            var builder = new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.environment().put("LC_ALL", "C");
            var process = builder.start();

            var document = new ObjectMapper().readTree(process.getInputStream().readAllBytes());

            assertThat(process.waitFor()).isZero();
            assertThat(document.at("/elections/0/election").asText()).isEqualTo("münchen");
        }
    }

    @Test
    void ordersToAnElectionThatNobodyKnowsAreRefusedUnlessForced() throws Exception {
        lead("billing", "ann");
        for (var verb : List.of("end", "delete")) {
            var spoken = Spoken.of(environment, verb, "biling", "--yes");
            assertThat(spoken.code()).as(verb).isEqualTo(ExitCode.FAILED);
            assertThat(spoken.err()).contains("there is no election \"biling\"", "--force");
        }
        assertThat(elections.election("biling").state().ended()).isFalse();
        assertThat(elections.list()).containsExactly("billing");

        assertThat(Spoken.of(environment, "end", "biling", "--yes", "--force").code())
                .isZero();
        assertThat(elections.election("biling").state().ended()).isTrue();
        assertThat(Spoken.of(environment, "delete", "biling", "--yes").code())
                .as("an ended one is known")
                .isZero();
    }

    @Test
    void lsOfNothingSaysHowToBegin() {
        var spoken = Spoken.of(environment, "ls");

        assertThat(spoken.code()).isZero();
        assertThat(spoken.out()).isEmpty();
        assertThat(spoken.err()).contains("bellwether run");
    }

    @Test
    void rolesShowsWhoHasWhat() throws Exception {
        var config =
                RosterConfig.builder().roles(10).partitions(4).member("ann").build();
        var roster = elections.roster("pricing", config);
        assertThat(roster.await(10, Duration.ofSeconds(30))).isTrue();

        var spoken = Spoken.of(environment, "roles", "pricing", "--count", "10");
        assertThat(spoken.code()).isZero();
        assertThat(spoken.out().lines().map(line -> line.split(" +", -1)).map(words -> String.join(" ", words)))
                .containsExactly("Roster pricing, 4 partitions", "GROUP MEMBER HOST HAS ROLES", "main ann - 10 0-9");

        var found = Spoken.of(environment, "roles", "pricing", "--json").json();
        assertThat(found.get("partitions").asInt()).isEqualTo(4);
        assertThat(found.get("groups").get(0).get("vacant").asInt()).isZero();
        assertThat(found.get("groups").get(0).get("members").get(0).get("partitions"))
                .hasSize(4);

        assertThat(Spoken.of(environment, "roles", "nobodys").code()).isEqualTo(3);
    }

    @Test
    void numbersAreShownInRanges() {
        assertThat(RolesCommand.ranges(List.of(0, 1, 2, 5, 7, 8))).isEqualTo("0-2,5,7-8");
        assertThat(RolesCommand.ranges(List.of())).isEqualTo("-");
    }

    @Test
    void showTellsTheLeaderAndWhoStandsBy() throws Exception {
        lead("billing", "ann");
        elections.stand(
                "billing",
                CandidacyConfig.builder()
                        .candidate("bob")
                        .priority(7)
                        .metadata(Map.of("zone", "b"))
                        .build());

        var spoken = Spoken.of(environment, "show", "billing");
        var json = Spoken.of(environment, "show", "--json", "billing").json();

        assertThat(spoken.code()).isZero();
        assertThat(spoken.out()).contains("ann").contains("bob, priority 7, zone=b");
        assertThat(json.get("leader").get("candidate").asText()).isEqualTo("ann");
        assertThat(json.get("candidates")).hasSize(2);
    }

    @Test
    void showPrintsMetadataOnOneLineAndNothingThatATerminalObeys() throws Exception {
        var candidacy = elections.stand(
                "billing",
                CandidacyConfig.builder()
                        .candidate("ann")
                        .metadata(Map.of("note", "a\nLeader  eve\u001b[2J\u2028é"))
                        .build());
        assertThat(candidacy.await(PATIENCE)).isPresent();

        var spoken = Spoken.of(environment, "show", "billing");

        assertThat(spoken.out().lines())
                .hasSize(5)
                .anyMatch(line -> line.endsWith("  note=a\uFFFDLeader  eve\uFFFD[2J\uFFFDé"));
        assertThat(Spoken.of(environment, "show", "billing", "--json")
                        .json()
                        .at("/leader/metadata/note")
                        .asText())
                .isEqualTo("a\nLeader  eve\u001b[2J\u2028é");
    }

    @Test
    void noNameThatOthersHaveChosenIsObeyedByATerminal() throws Exception {
        lead("billing", "ann");
        elections.stand("billing", CandidacyConfig.builder().candidate("bob").build());
        var odd = Map.of("BELLWETHER_ON", "odd:" + name(), "TERM", "xterm");
        assertThat(Spoken.onTerminal("", odd, "show", "billing").out())
                .contains("\u001b[1mbilling\u001b[0m", "\u001b[32mann" + OddStores.SHOWN + "\u001b[0m");
        var verbs = List.of(
                List.of("ls"),
                List.of("show", "billing"),
                List.of("watch", "billing", "--for", "300ms"),
                List.of("run", "billing", "--max-wait", "500ms", "--", "true"),
                List.of("doctor", "billing"),
                List.of("hand-over", "billing", "--to", "bob", "--yes"),
                List.of("stand-down", "billing", "--yes"));
        for (var verb : verbs) {
            var words = verb.toArray(String[]::new);
            var live = Spoken.onTerminal("", odd, words).all();
            assertThat(live.replaceAll("\u001b\\[(0|1|2|31|32)m|\u001b\\[(2K|J|\\d+A)", ""))
                    .as("%s, on a terminal", verb)
                    .doesNotContain("\u001b", "\u009b");
            assertThat(Spoken.of(odd, words).all())
                    .as("%s", verb)
                    .doesNotContain("\u001b", "\u009b")
                    .contains(OddStores.SHOWN);
        }
        assertThat(Spoken.of(odd, "ls").err())
                .startsWith("bellwether: warning: odd" + OddStores.SHOWN + ": ")
                .contains("is not printable");
    }

    @Test
    void watchTellsOnceOfAnElectionWhoseNameIsRefusedAndGoesOn() throws Exception {
        lead("billing", "ann");
        var out = new StringWriter();
        var err = new StringWriter();
        var watch = Spoken.inBackground(out, err, "watch", "--on", "odd:" + name());
        try {
            Eventually.eventually("it is told", PATIENCE, () -> lines(err) > 0);
            lead("later", "bob");
            Eventually.eventually(
                    "it has looked again", PATIENCE, () -> out.toString().contains("later  bob"));
            assertThat(err.toString().lines())
                    .singleElement()
                    .asString()
                    .startsWith("bellwether: odd" + OddStores.SHOWN + ": ")
                    .contains("is not printable");
            assertThat(out.toString()).contains("billing  ann");
        } finally {
            watch.interrupt();
            watch.join();
        }
    }

    @Test
    void showOfAVacantSeatExitsWith3() {
        assertThat(Spoken.of(environment, "show", "nothing").code()).isEqualTo(ExitCode.NOBODY_LEADS);
        assertThat(Spoken.of(environment, "show", "nothing", "--json")
                        .json()
                        .get("leader")
                        .isNull())
                .isTrue();
    }

    @Test
    void watchPrintsALinePerChange() throws Exception {
        lead("billing", "ann");

        var spoken = Spoken.of(environment, "watch", "billing", "--for", "300ms");

        assertThat(spoken.code()).isZero();
        assertThat(spoken.out().lines()).singleElement().asString().endsWith("billing  ann leads, token 1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "billing"})
    void watchSaysOnceThatTheBackendDoesNotAnswerAndOnceThatItDoes(String named) throws Exception {
        lead("billing", "ann");
        var link = LinkedStores.link(name());
        var out = new StringWriter();
        var err = new StringWriter();
        var words = new ArrayList<>(List.of("watch", "--on", "linked:" + name(), "--timeout", "5s"));
        if (!named.isEmpty()) {
            words.add(named);
        }
        var watch = Spoken.inBackground(out, err, words.toArray(String[]::new));
        try {
            Eventually.eventually(
                    "it shows who leads", PATIENCE, () -> out.toString().contains("ann leads"));
            link.refuse();
            Eventually.eventually("it complains", PATIENCE, () -> lines(err) > 0);
            link.heal();
            Eventually.eventually("it says that this is over", PATIENCE, () -> lines(err) > 1);
            assertThat(err.toString().lines())
                    .satisfiesExactly(
                            first ->
                                    assertThat(first).startsWith("bellwether: ").contains("refused"),
                            second -> assertThat(second).contains("answers again"));
        } finally {
            link.heal();
            watch.interrupt();
            watch.join();
        }
    }

    @Test
    void watchOnATerminalMarksWhatIsNotKnownAnyMore() throws Exception {
        lead("billing", "ann");
        var link = LinkedStores.link(name());
        var out = new StringWriter();
        var watch = new Thread(
                () -> Spoken.onTerminalInto(out, environment, "watch", "billing", "--on", "linked:" + name()));
        watch.start();
        try {
            Eventually.eventually(
                    "it is a row", PATIENCE, () -> row(out, "billing").endsWith(" ann"));
            link.refuse();
            Eventually.eventually(
                    "it is marked", PATIENCE, () -> row(out, "billing").endsWith("(unknown; last was ann)"));
            link.heal();
            Eventually.eventually(
                    "it is known again", PATIENCE, () -> row(out, "billing").endsWith(" ann"));
        } finally {
            link.heal();
            watch.interrupt();
            watch.join();
        }
    }

    private static long lines(StringWriter text) {
        return text.toString().lines().count();
    }

    /** Returns the row of an election in the last drawing, or nothing. */
    private static String row(StringWriter out, String election) {
        return lastFrame(out)
                .lines()
                .map(line -> line.replaceAll("\u001b\\[[0-9;]*[A-Za-z]", ""))
                .filter(line -> line.startsWith(election + " "))
                .findFirst()
                .orElse("");
    }

    /** Returns the name of the store. */
    private String name() {
        return uri.substring("memory:".length());
    }

    @Test
    void watchOnATerminalDrawsATable() throws Exception {
        lead("billing", "ann");

        var spoken = Spoken.onTerminal("", environment, "watch", "--for", "300ms");

        assertThat(spoken.out()).contains("ELECTION").contains("ann").contains("\u001b[2K");
    }

    /** As in a shell of an editor, or a console that only writes on. */
    @Test
    void watchOnATerminalThatCannotBeRedrawnPrintsALinePerChange() throws Exception {
        lead("billing", "ann");
        var dumb = Map.of("BELLWETHER_ON", uri, "TERM", "dumb");

        var spoken = Spoken.onTerminal("", dumb, "watch", "billing", "--for", "300ms");

        assertThat(spoken.out().lines()).singleElement().asString().endsWith("billing  ann leads, token 1");
    }

    @Test
    void watchForgetsAnElectionThatIsDeleted() throws Exception {
        lead("billing", "ann");
        lead("late", "bob").close();
        var out = new StringWriter();
        var watch = new Thread(() -> Spoken.onTerminalInto(out, environment, "watch"));
        watch.start();
        try {
            Eventually.eventually("it is a row", PATIENCE, () -> lastFrame(out).contains("(nobody)"));

            elections.election("late").delete();

            Eventually.eventually(
                    "the row goes",
                    PATIENCE,
                    () -> lastFrame(out).contains("ann") && !lastFrame(out).contains("(nobody)"));
        } finally {
            watch.interrupt();
            watch.join();
        }
    }

    /** Returns the last drawing that is whole, and what follows it. */
    private static String lastFrame(StringWriter out) {
        var all = out.toString();
        return all.substring(Math.max(0, all.lastIndexOf("ELECTION")));
    }

    @Test
    void watchDrawsInPlaceAlsoWhenTheTableIsTallerThanTheTerminal() throws Exception {
        for (var i = 0; i < 30; i++) {
            lead("e-%02d".formatted(i), "ann-who-has-a-name-that-is-longer-than-forty-columns");
        }
        lead("vacant", "ann").close();
        var small = Map.of("BELLWETHER_ON", uri, "TERM", "xterm", "LINES", "10", "COLUMNS", "40");

        var spoken = Spoken.onTerminal("", small, "watch", "--for", "1500ms");

        assertThat(spoken.code()).isZero();
        var top = 0; // how many lines the cursor is below where the first drawing began
        var highest = 0;
        for (var line : spoken.out().split("\n", -1)) {
            var up = Pattern.compile("\u001b\\[(\\d+)A").matcher(line);
            if (up.find()) {
                top -= Integer.parseInt(up.group(1));
                assertThat(top).as("each drawing begins where the first did").isZero();
            }
            assertThat(line.replaceAll("\u001b\\[[0-9;]*[A-Za-z]", "")).hasSizeLessThanOrEqualTo(40);
            top++;
            highest = Math.max(highest, top);
        }
        assertThat(highest).as("lines that scroll nothing away").isLessThanOrEqualTo(10);
        var frames = spoken.out().split("ELECTION", -1);
        assertThat(frames[frames.length - 1]).contains("vacant", "(nobody)", " more");
    }

    @Test
    @Timeout(20)
    void standDownAsksAndTakesNoForAnAnswer() throws Exception {
        var ann = lead("billing", "ann");

        var no = Spoken.onTerminal("n\n", environment, "stand-down", "billing");
        var nothing = Spoken.onTerminal("", environment, "stand-down", "billing");
        assertThat(no.code()).isEqualTo(ExitCode.FAILED);
        assertThat(nothing.code()).isEqualTo(ExitCode.FAILED);
        assertThat(no.out()).contains("ann").contains("[y/N]");
        assertThat(ann.isLeader()).isTrue();

        var yes = Spoken.onTerminal("y\n", environment, "stand-down", "billing");
        assertThat(yes.code()).isZero();
        while (ann.status().lastCause().isEmpty()) {
            Thread.onSpinWait(); // ordered is not obeyed yet
        }
        assertThat(ann.status().lastCause()).contains(Cause.REVOKED_BY_OPERATOR);
    }

    @Test
    void standDownWithoutTerminalOrYesDoesNothing() throws Exception {
        var ann = lead("billing", "ann");

        var spoken = Spoken.of(environment, "stand-down", "billing");

        assertThat(spoken.code()).isEqualTo(ExitCode.USAGE);
        assertThat(spoken.err()).contains("There is no terminal to ask on. Add --yes.");
        assertThat(Spoken.of(environment, "stand-down", "billing", "--json").err())
                .contains("--json cannot ask for confirmation. Add --yes.");
        assertThat(ann.isLeader()).isTrue();
    }

    @Test
    void standDownOfNobodyExitsWith3() {
        var spoken = Spoken.of(environment, "stand-down", "billing", "--yes", "--json");

        assertThat(spoken.code()).isEqualTo(ExitCode.NOBODY_LEADS);
        assertThat(spoken.json().get("done").asBoolean()).isFalse();
    }

    @Test
    void endAndDeleteDoAsTheySay() throws Exception {
        var ann = lead("billing", "ann");

        assertThat(Spoken.of(environment, "end", "billing", "-y").code()).isZero();
        ann.awaitClose();
        assertThat(Spoken.of(environment, "show", "billing").out()).contains("has ended");
        assertThat(Spoken.of(environment, "ls").out()).contains("(ended)");
        assertThat(Spoken.of(environment, "show", "billing", "--json")
                        .json()
                        .get("ended")
                        .asBoolean())
                .isTrue();
        assertThat(Spoken.of(environment, "delete", "billing", "-y").code()).isZero();

        assertThat(Spoken.of(environment, "ls", "--json").json().get("elections"))
                .isEmpty();
    }

    @Test
    void anEndedElectionIsListedAndReopened() throws Exception {
        lead("billing", "ann").close();
        assertThat(Spoken.of(environment, "reopen", "billing", "-y").code()).isEqualTo(ExitCode.FAILED);
        assertThat(Spoken.of(environment, "end", "billing", "-y").code()).isZero();
        assertThat(Spoken.of(environment, "end", "typo", "-y", "--force").code())
                .isZero();

        assertThat(Spoken.of(environment, "ls").out())
                .containsPattern("billing .*\\(ended\\)")
                .containsPattern("typo .*\\(ended\\)");
        var reopened = Spoken.of(environment, "reopen", "billing", "-y");

        assertThat(reopened.code()).isZero();
        assertThat(reopened.out()).contains("Reopened \"billing\"");
        assertThat(Spoken.of(environment, "ls").out()).containsPattern("billing .*\\(nobody\\)");
        assertThat(lead("billing", "bob")
                        .await(Duration.ofSeconds(10))
                        .orElseThrow()
                        .token())
                .isEqualTo(2);
    }

    @Test
    void completionIsAScript() throws Exception {
        var script = Files.writeString(
                folder.resolve("completion"),
                Spoken.of(environment, "completion", "bash").out());

        var bash =
                new ProcessBuilder("bash", "-n", script.toString()).inheritIO().start();
        assertThat(bash.waitFor()).isZero();
        assertThat(Files.readString(script)).contains("stand-down");
    }

    @Test
    void everyVerbHasHelpWithAnExample() {
        var spoken = Spoken.of(environment, "--help");
        assertThat(spoken.code()).isZero();
        for (var one : Main.commandLine(Spoken.around()).getSubcommands().entrySet()) {
            if (one.getValue().getCommandSpec().usageMessage().hidden()) {
                continue; // for our own use
            }
            var verb = one.getKey();
            assertThat(spoken.out()).contains(verb);
            var help = Spoken.of(environment, verb, "--help");
            assertThat(help.code()).isZero();
            assertThat(help.out())
                    .contains("Usage: bellwether ")
                    .contains("Examples:")
                    .contains("  bellwether ");
            assertThat(help.out().lines().mapToInt(String::length).max().orElse(0))
                    .isLessThanOrEqualTo(100);
            assertThat(Spoken.of(environment, "help", verb).out()).isEqualTo(help.out());
        }
    }

    @Test
    void helpOfAVerbOfAVerbIsItsOwnWhereverItIsAskedFor() {
        var outbox = Objects.requireNonNull(
                Main.commandLine(Spoken.around()).getSubcommands().get("outbox"));
        for (var verb : outbox.getSubcommands().keySet()) {
            var help = Spoken.of(environment, "outbox", verb, "--help");
            assertThat(help.out()).contains("Usage: bellwether outbox " + verb);
            assertThat(Spoken.of(environment, "help", "outbox", verb)).isEqualTo(help);
            assertThat(Spoken.of(environment, "outbox", "help", verb)).isEqualTo(help);
        }
        assertThat(Spoken.of(environment, "outbox", "help")).isEqualTo(Spoken.of(environment, "outbox", "--help"));
        assertThat(Spoken.of(environment, "--verbose", "help", "ls")).isEqualTo(Spoken.of(environment, "ls", "--help"));
        assertThat(Spoken.of(environment, "help", "run", "nightly", "--", "true"))
                .as("nothing stands")
                .isEqualTo(Spoken.of(environment, "run", "--help"));
    }

    @Test
    void coloursAreForTerminalsThatWantThem() {
        assertThat(Spoken.of(environment, "--help").out()).doesNotContain("\u001b");
        assertThat(Spoken.onTerminal("", environment, "--help").out()).contains("\u001b");
        assertThat(Spoken.onTerminal("", Map.of("TERM", "xterm", "NO_COLOR", "1"), "--help")
                        .out())
                .doesNotContain("\u001b");
        assertThat(Spoken.onTerminal("", Map.of("TERM", "dumb"), "--help").out())
                .doesNotContain("\u001b");
    }

    @Test
    void coloursAreDecidedForEachStream() {
        assertThat(Spoken.onTerminal("", environment).err()).contains("Usage:", "\u001b");
        assertThat(Spoken.onTerminalButForErrors(environment).err())
                .contains("Usage:")
                .doesNotContain("\u001b");
        assertThat(Spoken.onTerminalButForErrors(environment, "--help").out()).contains("\u001b");
        assertThat(Spoken.onTerminalButForErrors(environment, "ls", "--on", "gopher://x")
                        .err())
                .contains("no backend for the scheme")
                .doesNotContain("\u001b");
    }

    @Test
    void mistakesAreOneLineThatSaysWhatWouldBeRight() throws IOException {
        assertWrong("a URI without a scheme", "has no scheme", "ls", "--on", "billing");
        assertWrong("an unknown scheme", "no backend for the scheme", "ls", "--on", "gopher://x");
        assertWrong("a blank name", "blank", "show", " ");
        assertWrong("a bad duration", "250ms", "watch", "--for", "soon");
        assertWrong("a time beyond all sense", "at most 30000d", "run", "--grace", "40000d", "e", "--", "true");
        assertWrong("a time beyond all sense", "at most 30000d", "hand-over", "e", "--within", "200000d", "--yes");
        assertWrong("a time beyond all sense", "at most 30000d", "watch", "--for", "pt9999999h");
        assertWrong("both ways to name a backend", "give one of them", "ls", "--on", uri, "--on-file", "x");
        assertWrong(
                "a file that is not there",
                "cannot be read",
                "ls",
                "--on-file",
                folder.resolve("x").toString());
        assertWrong(
                "a grace that does not fit",
                "make the lease",
                "run",
                "--lease",
                "2s",
                "--grace",
                "2s",
                "e",
                "--",
                "true");
        assertWrong("metadata without a value", "zone has no value", "run", "--metadata", "zone", "e", "--", "true");
        for (var verb : List.of("run", "serve")) {
            assertWrong(
                    "metadata twice",
                    "the key \"zone\" twice, with \"a\" and with \"b=c\": give it once",
                    verb,
                    "--metadata",
                    "zone=a",
                    "--metadata",
                    "zone=b=c",
                    "e",
                    "--",
                    "true");
        }
        assertWrong("one signal of two", "belong together", "run", "--won", "USR1", "e", "--", "true");
        assertWrong(
                "a signal that kills", "is not a signal", "run", "--won", "KILL", "--lost", "USR1", "e", "--", "true");
        assertWrong("a port that is none", "70000 is no port", "demo", "--on", "sqlite", "--port", "70000");
        assertWrong("a lease for nobody", "at least 10 ms", "demo", "--on", "sqlite", "--lease", "1ms", "--for", "1s");
        assertWrong("fewer roles than none", "no roster has -1 roles", "roles", "r", "--count", "-1");
        assertWrong("more roles than there can be", "at most 10000000", "roles", "r", "--count", "2000000000");
        assertWrong("no command", "COMMAND", "run", "e");
        assertWrong("an option of the command before it", "after --", "run", "e", "-l", "ls");
        assertWrong("a driver that is not here", "jdbc:mariadb:", "ls", "--on", "jdbc:mysql://db/app");
        assertWrong("a scheme that is none", "jdbc:mariadb:", "ls", "--on", "mysql://db/app");
        assertWrong("a database that is none", "jdbc:mariadb:", "outbox", "status", "--db", "mariadb://db/app");
        assertWrong("a verb that does not exist", "unknown command \"lls\". Did you mean ls?", "lls");
        assertWrong("one far from all", "unknown command \"nosuch\": there are run, file, serve, ls, ", "nosuch");
        assertWrong("one of the outbox", "unknown command \"statsu\". Did you mean status?", "outbox", "statsu");
        assertWrong("help of one", "unknown command \"lls\". Did you mean ls?", "help", "lls");
        assertWrong("help of one, and of what follows it", "unknown command \"lls\"", "help", "lls", "ls");
        assertWrong("help of one of the outbox", "unknown command \"statsu\"", "help", "outbox", "statsu");
        assertWrong("help of one, of the outbox", "unknown command \"statsu\"", "outbox", "help", "statsu");
        var file = Files.writeString(folder.resolve("reaper.yaml"), "harvest:\n  baseKafkaConfig: { a: 1\n  x: [\n");
        var broken = Spoken.of(environment, "reap", "-f", file.toString());
        assertThat(broken.code()).isEqualTo(ExitCode.USAGE);
        assertThat(broken.err().lines()).singleElement().asString().contains(file + ", line 3, column ", "is no YAML");
    }

    /** The code of an uncaught error, 1, would be taken for that of the command. */
    @Test
    void withoutMemoryRunExitsWithItsOwnCodeAndAllSaySoOnOneLine() {
        for (var line :
                List.of(List.of("run", "--on", "hopeless:x", "e", "--", "true"), List.of("ls", "--on", "hopeless:x"))) {
            var spoken = Spoken.of(Map.of(), line.toArray(String[]::new));
            assertThat(spoken.code()).isEqualTo(line.get(0).equals("run") ? ExitCode.RUN_FAILED : ExitCode.FAILED);
            assertThat(spoken.err().lines()).singleElement().asString().endsWith("OutOfMemoryError: planted");
        }
    }

    @Test
    void memoryIsRefusedWhereNobodyElseCouldSeeIt() throws Exception {
        var line = Commands.java();
        line.addAll(java.util.List.of("ls", "--on", "memory:"));
        var process = new ProcessBuilder(line).redirectErrorStream(true).start();

        assertThat(new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8))
                .contains("one process");
        assertThat(process.waitFor()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void aPartOfAUriMayComeByAPipeWhichCanBeReadOnce() throws Exception {
        var database = folder.resolve("elections.db");
        try (var there = Elections.connect("jdbc:sqlite:" + database);
                var leader = there.stand("billing")) {
            assertThat(leader.await(PATIENCE)).isPresent();
            var said = folder.resolve("said");
            var show =
                    Commands.fed(database.toString(), said, "show", "billing", "--on", "jdbc:sqlite:${file:/dev/fd/3}");
            assertThat(show).as(Files.readString(said)).isZero();
        }
    }

    /** As in a container whose user nobody knows: each folder would have had elections of its own. */
    @Test
    void aUserWithoutAHomeIsToldToNameABackend() throws Exception {
        var line = Commands.java();
        line.add(1, "-Duser.home=?");
        line.add("ls");
        var said = folder.resolve("said");
        var builder = new ProcessBuilder(line)
                .directory(Files.createDirectory(folder.resolve("here")).toFile())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile());
        builder.environment().keySet().removeAll(List.of("HOME", "XDG_STATE_HOME", "BELLWETHER_HOME", "BELLWETHER_ON"));
        var code = builder.start().waitFor();
        assertThat(Files.readString(said)).contains("this user has no home", "BELLWETHER_HOME");
        assertThat(code).isEqualTo(ExitCode.USAGE);
        assertThat(folder.resolve("here")).isEmptyDirectory();
    }

    @Test
    void onFileNamesTheBackend() throws Exception {
        lead("billing", "ann");
        var file = Files.writeString(folder.resolve("uri"), uri + "\n");

        assertThat(Spoken.of(Map.of(), "show", "billing", "--on-file", file.toString())
                        .code())
                .isZero();
    }

    private void assertWrong(String what, String hint, String... args) {
        var spoken = Spoken.of(environment, args);
        assertThat(spoken.code()).as(what).isEqualTo(ExitCode.USAGE);
        assertThat(spoken.err())
                .as(what)
                .startsWith("bellwether: ")
                .contains(hint)
                .doesNotContain("\tat ");
        assertThat(spoken.out()).as(what).isEmpty();
    }

    private Candidacy lead(String election, String candidate) throws InterruptedException {
        var candidacy = elections.stand(
                election, CandidacyConfig.builder().candidate(candidate).build());
        assertThat(candidacy.await(Duration.ofSeconds(10))).isPresent();
        return candidacy;
    }
}
