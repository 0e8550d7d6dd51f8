package dev.bellwether.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.cli.Commands;
import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.Never;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FileTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String uri = "memory:" + UUID.randomUUID();
    private final Map<String, String> environment = Map.of("BELLWETHER_ON", uri, "TERM", "xterm");

    @TempDir
    Path folder;

    @Test
    void theFileIsFreshWhileItsWriterLeadsAndGoneAfterThat() throws Exception {
        var file = folder.resolve("leader");
        assertThat(check(file)).isEqualTo(3);
        var writer = CompletableFuture.supplyAsync(
                () -> Spoken.of(
                        environment, "file", file.toString(), "nightly", "--for", "8s", "--lease", "5s", "--id", "ann"),
                task -> new Thread(task).start());
        Eventually.eventually("it is fresh", PATIENCE, () -> check(file) == 0);
        var first = Files.readString(file);
        assertThat(first).contains("election=nightly", "candidate=ann", "token=1");
        Eventually.eventually("it is kept fresh", PATIENCE, () -> !read(file).equals(first));
        assertThat(writer.join().code()).isZero();
        assertThat(file).doesNotExist();
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aStandbyWritesNothingAndRemovesWhatAnotherLeftBehind() throws Exception {
        var file = Files.writeString(
                folder.resolve("leader"), "election=nightly\nclock=another\nat_millis=0\nuntil_millis=1\n");
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("nightly")) {
            assertThat(leader.await(PATIENCE)).isPresent();
            assertThat(Spoken.of(environment, "file", file.toString(), "nightly", "--for", "500ms")
                            .code())
                    .isZero();
            assertThat(file).doesNotExist();
        }
    }

    /** It looked at the time once in a twelfth of the lease. */
    @Test
    @Timeout(60)
    void itEndsAfterItsTimeHoweverLongTheLeaseIs() throws Exception {
        var file = folder.resolve("leader");
        var line = new String[] {"file", file.toString(), "nightly", "--for", "500ms", "--lease", "2h"};
        assertThat(Spoken.of(environment, line).code()).isZero();
        try (var elections = Elections.connect(uri);
                var rival = elections.stand("nightly")) {
            assertThat(rival.await(PATIENCE)).isPresent();
            assertThat(Spoken.of(environment, line).code()).isZero();
        }
    }

    @Test
    void aCandidacyThatFailsIsToldAsThatWithItsCause() throws Exception {
        var file = folder.resolve("leader");
        var on = Commands.uri(folder);
        var writer = CompletableFuture.supplyAsync(
                () -> Spoken.of(
                        Map.of(),
                        "file",
                        file.toString(),
                        "nightly",
                        "--on",
                        on,
                        "--lease",
                        "5s",
                        "--access-patience",
                        "100ms"),
                task -> new Thread(task).start());
        Eventually.eventually("it is fresh", PATIENCE, () -> check(file) == 0);
        try (var connection = DriverManager.getConnection(on);
                var statement = connection.createStatement()) {
            statement.execute("PRAGMA busy_timeout = 5000");
            statement.execute("DROP TABLE bellwether_election");
        }
        var said = writer.join();
        assertThat(said.code()).isEqualTo(ExitCode.CANDIDACY_FAILED);
        assertThat(said.err())
                .contains("nightly: the candidacy has failed: ", "bellwether_election")
                .doesNotContain("has ended");
        assertThat(file).doesNotExist();
    }

    @Test
    void whatItDidNotWriteStaysAsItIs() throws Exception {
        var script = Files.writeString(folder.resolve("precious.sh"), "echo hello\n");
        var empty = Files.createDirectory(folder.resolve("empty"));
        var others = Files.writeString(
                folder.resolve("others"), "election=weekly\nclock=another\nat_millis=0\nuntil_millis=1\n");
        for (var one : List.of(script, empty, others)) {
            for (var on : List.of(uri, "jdbc:postgresql://localhost:1/x")) {
                var said = Spoken.of(Map.of(), "file", one.toString(), "nightly", "--on", on, "--for", "500ms");
                assertThat(said.code()).as(said.err()).isEqualTo(ExitCode.USAGE);
                assertThat(said.err()).contains(one + " was not written by 'bellwether file'");
                assertThat(one).exists();
            }
        }
        assertThat(script).hasContent("echo hello\n");
    }

    @Test
    void whatAnotherLeftBehindStaysIfTheBackendCannotBeReached() throws Exception {
        var file = Files.writeString(
                folder.resolve("leader"), "election=nightly\nclock=another\nat_millis=0\nuntil_millis=1\n");
        assertThat(Spoken.of(Map.of(), "file", file.toString(), "nightly", "--on", "jdbc:postgresql://localhost:1/x")
                        .code())
                .isNotZero();
        assertThat(file).exists();
    }

    @Test
    void theFileOfOneThatLeadsIsNotRemovedByOneThatStandsBy() throws Exception {
        var file = folder.resolve("leader");
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("nightly", CandidacyConfig.ofLease(Duration.ofMinutes(5)))) {
            new FreshFile(file).write(leader.await(PATIENCE).orElseThrow(), Duration.ofMinutes(5));
            assertThat(Spoken.of(environment, "file", file.toString(), "nightly", "--for", "500ms")
                            .code())
                    .isZero();
            assertThat(check(file)).isZero();
        }
    }

    @Test
    void aFileWhoseWriterStoppedWritingIsTooOldWhenItsMandateIsOver() throws Exception {
        var file = folder.resolve("leader");
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("nightly", CandidacyConfig.ofLease(Duration.ofMinutes(5)))) {
            var mandate = leader.await(PATIENCE).orElseThrow();
            new FreshFile(file).write(mandate, Duration.ofMinutes(5));
            var written = Files.readString(file);
            assertThat(Spoken.of(Map.of(), "file", "--check", file.toString()).err())
                    .as(written)
                    .isEmpty();
            Files.writeString(file, written.replaceAll("until_millis=\\d+", "until_millis=1"));
            assertThat(check(file)).isEqualTo(3);
        }
    }

    @Test
    void aFileThatCannotBeRemovedIsTooOldBeforeAnotherLeads() throws Exception {
        var real = Files.createDirectory(folder.resolve("real"));
        var link = Files.createSymbolicLink(folder.resolve("link"), real);
        var seen = new CompletableFuture<Integer>();
        var writer = CompletableFuture.supplyAsync(
                () -> Spoken.of(environment, "file", link.resolve("leader").toString(), "nightly", "--lease", "5s"),
                task -> new Thread(task).start());
        Eventually.eventually("it is fresh", PATIENCE, () -> check(real.resolve("leader")) == 0);
        try (var elections = Elections.connect(uri)) {
            var config = CandidacyConfig.builder().listener(event -> {
                if (event instanceof LeadershipEvent.Acquired) {
                    seen.complete(check(real.resolve("leader")));
                }
            });
            elections.stand("nightly", config.build());

            Files.delete(link); // from here on the file is there, and out of its writer's reach
            Files.createFile(link);

            assertThat(seen.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as(Never.mark("what --check says of the former leader when another leads"))
                    .isEqualTo(ExitCode.NOBODY_LEADS);
            assertThat(writer.join().code()).isEqualTo(ExitCode.FAILED);
        }
    }

    @Test
    void whatWasWrittenByAnotherOrBeforeTheMachineWasStartedIsNotFresh() throws IOException {
        var file = Files.writeString(folder.resolve("leader"), "{\"timestamp\": 1}");
        assertThat(Spoken.of(Map.of(), "file", "--check", file.toString()).err())
                .contains("not written by");
        Files.writeString(file, "clock=another\nat_millis=0\nuntil_millis=999999999999999\n");
        assertThat(Spoken.of(Map.of(), "file", "--check", file.toString()).err())
                .contains("before this machine");
    }

    @Test
    void theFileOfAnotherElectionThanIsAskedForIsNotFresh() throws Exception {
        var file = folder.resolve("leader");
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("nightly", CandidacyConfig.ofLease(Duration.ofMinutes(5)))) {
            new FreshFile(file).write(leader.await(PATIENCE).orElseThrow(), Duration.ofMinutes(5));
            assertThat(Spoken.of(Map.of(), "file", "--check", file.toString(), "nightly")
                            .code())
                    .isZero();

            var said = Spoken.of(Map.of(), "file", "--check", file.toString(), "weekly");

            assertThat(said.code()).isEqualTo(3);
            assertThat(said.err()).contains("was not written for \"weekly\"");
        }
    }

    @Test
    void theFileMayBeReadByAllWhoMayReadAnOrdinaryFile() throws Exception {
        var ordinary = Files.getPosixFilePermissions(Files.writeString(folder.resolve("ordinary"), ""));
        ordinary.remove(PosixFilePermission.GROUP_WRITE);
        ordinary.remove(PosixFilePermission.OTHERS_WRITE);
        var file = folder.resolve("leader");
        try (var elections = Elections.connect(uri);
                var leader = elections.stand("nightly", CandidacyConfig.ofLease(Duration.ofMinutes(5)))) {
            var fresh = new FreshFile(file);
            fresh.write(leader.await(PATIENCE).orElseThrow(), Duration.ofMinutes(5));
            assertThat(Files.getPosixFilePermissions(file)).isEqualTo(ordinary);
            fresh.write(leader.mandate().orElseThrow(), Duration.ofMinutes(5));
            assertThat(Files.getPosixFilePermissions(file)).isEqualTo(ordinary);
        }
    }

    @Test
    void aFileThatCannotBeReadIsTroubleAndNoLeader() throws Exception {
        var directory = Files.createDirectory(folder.resolve("directory"));
        var said = Spoken.of(Map.of(), "file", "--check", directory.toString());
        assertThat(said.code()).as(said.all()).isEqualTo(ExitCode.FAILED);
        assertThat(said.err()).contains(directory + " cannot be read", "whether anybody leads is not known");

        var file = Files.writeString(folder.resolve("leader"), "election=nightly\n");
        Files.setPosixFilePermissions(file, Set.of());
        var denied = Spoken.of(Map.of(), "file", "--check", file.toString());
        if (!Files.isReadable(file)) { // root reads everything
            assertThat(denied.code()).as(denied.all()).isEqualTo(ExitCode.FAILED);
            assertThat(denied.err()).contains(file + " cannot be read: this user may not");
        }
    }

    @ParameterizedTest
    @CsvSource({"INT,130", "TERM,143"})
    void aSignalRemovesTheFileHandsOverAndIsTheExitCode(String signal, int code) throws Exception {
        var file = folder.resolve("leader");
        var command = Commands.interruptible();
        // so long that who looks afterwards does not see it run out, and that the end may take its time
        command.addAll(List.of("file", file.toString(), "nightly", "--lease", "5m", "--on", Commands.uri(folder)));
        var errors = folder.resolve("errors");
        var process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
        try {
            Eventually.eventually("it leads", PATIENCE, () -> check(file) == 0);
            assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                            .start()
                            .waitFor())
                    .isZero();
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as("it ends")
                    .isTrue();
            assertThat(process.exitValue()).isEqualTo(code);
            assertThat(file).doesNotExist();
            assertThat(errors).content().doesNotContain("Exception");
            try (var elections = Elections.connect(Commands.uri(folder))) {
                assertThat(elections.election("nightly").leader())
                        .as("who leads now")
                        .isEmpty();
            }
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void withoutAnElectionThereIsNothingToStandFor() {
        assertThat(Spoken.of(environment, "file", folder.resolve("leader").toString())
                        .code())
                .isEqualTo(2);
    }

    private int check(Path file) {
        return Spoken.of(Map.of(), "file", "--check", file.toString()).code();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }
}
