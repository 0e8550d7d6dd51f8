package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whatever is mistyped, however: nothing of a password comes out again. */
class SecretsTest {
    private static final int TRIES = 400;
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    private static final String ODD = "!$*()_-+.,;~^%/?#:@&= \"'\\{}[]|<>é";

    @TempDir
    Path folder;

    @Test
    void noOutputEverShowsASecret() throws Exception {
        var seed = Long.getLong("bellwether.seed", new Random().nextLong());
        var random = new Random(seed);
        for (var i = 0; i < TRIES; i++) {
            // The middle is what must not be seen; what surrounds it may break the URI apart in any way.
            var core = "S3cr3t" + letters(random, 8);
            var secret = odd(random) + core + odd(random);
            var uri = uri(random, secret);
            var environment = random.nextInt(3) == 0 ? Map.of("BELLWETHER_ON", uri) : Map.<String, String>of();
            var spoken = Spoken.of(environment, args(random, uri));
            assertThat(spoken.all()).as("seed %d, try %d, URI %s", seed, i, uri).doesNotContain(core);
        }
    }

    @Test
    void aSecretWithALineBreakIsNotShownWhateverNamesTheBackend() throws Exception {
        for (var scheme : List.of("careless", "tactless")) {
            var uri = scheme + ":?token=s3cr3t%0A";
            var file = Files.writeString(folder.resolve(scheme), uri).toString();
            for (var spoken : List.of(
                    Spoken.of(Map.of("BELLWETHER_ON", uri), "ls", "--verbose"),
                    Spoken.of(Map.of(), "ls", "--verbose", "--on", uri),
                    Spoken.of(Map.of(), "ls", "--verbose", "--on-file", file),
                    Spoken.of(Map.of(), "hand-over", "--yes", "x", "--on-file", file))) {
                assertThat(spoken.err())
                        .contains("invalid header value: \"***\"")
                        .doesNotContain("s3cr3t");
            }
        }
    }

    @Test
    void whatAClientThrowsOfItsOwnIsToldWithoutSecretsAlsoWhereItConnectsLazily() {
        var uri = "careless:?token=s3cr3t";
        var lazily = ElectionsConfig.builder().connectLazily(true).build();
        try (var lazy = Elections.connect(uri, lazily)) {
            for (ThrowingCallable told : List.<ThrowingCallable>of(() -> Elections.connect(uri), lazy::list)) {
                assertThatThrownBy(told)
                        .isInstanceOf(ElectionException.class)
                        .hasMessageContainingAll("cannot connect to careless:", "invalid header value: \"***\"")
                        .extracting(SecretsTest::chain)
                        .asString()
                        .doesNotContain("s3cr3t");
            }
        }
    }

    @Test
    void theRemedyOfAJointUriWithoutAQuestionMarkIsReadable() {
        var spoken = Spoken.of(Map.of(), "ls", "--on", "joint:old=nats://a:s3cr3t@b&next=nats://c");
        assertThat(spoken.err()).contains("joint:?old=URI&next=URI").doesNotContain("s3cr3t");
    }

    /** A home may be that of somebody somewhere, and who reads the message looks for the file. */
    @Test
    void aPathWithAnAtSignIsShown() throws Exception {
        var home = Files.createDirectory(folder.resolve("ann@corp"));
        var absent = home.resolve("absent").toString();
        assertThat(Spoken.of(Map.of(), "ls", "--on-file", absent).err()).contains(absent);
        assertThat(Spoken.of(Map.of(), "ls", "--on-file=" + absent).err()).contains(absent);
        var database = "jdbc:sqlite:" + home.resolve("no").resolve("such.db");
        for (var spoken : List.of(
                Spoken.of(Map.of(), "ls", "--on", database), Spoken.of(Map.of("BELLWETHER_ON", database), "ls"))) {
            assertThat(spoken.code()).isNotZero();
            assertThat(spoken.err()).contains(database);
        }
        for (var secret : List.of("s3cr3t@host", "me:s3cr3t@host", "./me:s3cr3t@host")) {
            assertThat(Spoken.of(Map.of(), "ls", "--on-file", secret).all())
                    .contains("cannot be read")
                    .doesNotContain("s3cr3t");
        }
    }

    /** It was opened once more for what it may hold, and nobody writes into it twice: the message never came. */
    @Test
    @Timeout(60)
    void whatIsWrongIsToldThoughTheSecretCameByAPipe() throws Exception {
        var pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        var writer = new ProcessBuilder("sh", "-c", "printf s3cr3t > \"$0\"", pipe.toString()).start();
        var spoken = Spoken.of(Map.of(), "ls", "--on", "gopher://me:${file:" + pipe + "}@host/path");
        assertThat(spoken.code()).isNotZero();
        assertThat(spoken.err()).contains("no backend for the scheme").doesNotContain("s3cr3t");
        assertThat(writer.waitFor()).isZero();
    }

    /** Returns what a log would hold of it. */
    private static String chain(Throwable error) {
        var text = new StringWriter();
        error.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    private String[] args(Random random, String uri) throws Exception {
        var file = Files.writeString(folder.resolve("uri"), uri);
        var args = new ArrayList<String>(List.of(random.nextBoolean() ? "ls" : "show"));
        switch (random.nextInt(6)) {
            case 0 -> args.addAll(List.of("--on", uri, "--timeout", "10ms"));
            case 1 -> args.addAll(List.of("--on=" + uri, "--timeout", "10ms"));
            case 2 -> args.addAll(List.of("x", uri)); // where a backend cannot be
            case 3 -> args.addAll(List.of("x", "--on-file", file.toString(), "--timeout", "10ms"));
            case 4 -> args.addAll(List.of("--no=" + uri));
            default -> args.addAll(List.of("x", "--timeout", "10ms"));
        }
        if (random.nextInt(4) == 0) {
            args.add("--verbose");
        }
        return args.toArray(String[]::new);
    }

    private static String uri(Random random, String secret) {
        return switch (random.nextInt(9)) {
            case 0 -> "jdbc:postgresql://user:" + secret + "@127.0.0.1:1/app";
            case 1 -> "jdbc:postgresql://127.0.0.1:1/app?user=me&password=" + secret;
            case 2 -> "jdbc:sqlite:/nowhere/at/all.db?password=" + secret;
            case 3 -> "gopher://user:" + secret + "@host/path";
            case 4 -> "memory:x?token=" + secret;
            case 5 -> "//user:" + secret + "@host";
            case 6 -> "jdbc:nonesuch://h/db?apiKey=" + secret + "&x";
            case 7 -> "memory:y?password=" + secret + "&password=" + secret;
            default -> "kafka:user:" + secret + "@127.0.0.1:1";
        };
    }

    private static String odd(Random random) {
        return random.nextInt(3) > 0 ? "" : String.valueOf(ODD.charAt(random.nextInt(ODD.length())));
    }

    private static String letters(Random random, int count) {
        var text = new StringBuilder();
        for (var i = 0; i < count; i++) {
            text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        }
        return text.toString();
    }
}
