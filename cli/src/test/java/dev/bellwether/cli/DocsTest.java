package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.fixtures.CommonWords;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** The page about the command says what is so. */
class DocsTest {
    private static final Path PAGE = Path.of("..", "docs", "cli.md");
    private static final Pattern EXAMPLE =
            Pattern.compile("```bash example(?: exit=(\\d+))?\n(.*?)```", Pattern.DOTALL);

    private static final Pattern EXIT_CODES =
            Pattern.compile("\\| exit code \\| meaning \\|\n\\|---\\|---\\|\n((?:\\|.*\n)+)");
    private static final Pattern CODE = Pattern.compile("(?m)^\\| ([^|]+) \\|");
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    @TempDir
    static Path folder;

    /** One after the other, since some want what others have done before. */
    @Test
    void examplesWork() throws Exception {
        var tried = 0;
        var examples = EXAMPLE.matcher(Files.readString(PAGE));
        while (examples.find()) {
            var code = examples.group(1) == null ? 0 : Integer.parseInt(examples.group(1));
            for (var line : examples.group(2).strip().split("\n", -1)) {
                assertThat(codeOf(line)).as(() -> line + ": " + output()).isEqualTo(code);
                tried++;
            }
        }
        assertThat(tried).isGreaterThan(8);
    }

    @Test
    void everyVerbAndOptionIsExplained() throws IOException {
        var page = Files.readString(PAGE);
        var line = Main.commandLine(Spoken.around());
        line.getSubcommands().forEach((name, verb) -> {
            if (!verb.getCommandSpec().usageMessage().hidden()
                    && verb.getCommandName().equals(name)) {
                assertThat(page).contains("`" + name + "`");
            }
        });
        assertThat(options(line)).contains("--max-wait", "--watch", "--quiet").allMatch(page::contains);
    }

    /** Returns the options of all commands that are shown, except those that all have. */
    private static Set<String> options(CommandLine line) {
        return Stream.concat(
                        line.getCommandSpec().options().stream()
                                .filter(option -> !option.hidden())
                                .map(OptionSpec::longestName)
                                .filter(name -> !List.of("--help", "--version").contains(name)),
                        line.getSubcommands().values().stream()
                                .filter(verb ->
                                        !verb.getCommandSpec().usageMessage().hidden())
                                .flatMap(verb -> options(verb).stream()))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Those of signals, and of the command of run, are no constants. */
    @Test
    void everyExitCodeIsExplainedAndNoOther() throws IOException {
        var tables = EXIT_CODES
                .matcher(Files.readString(PAGE))
                .results()
                .map(table -> CODE.matcher(table.group(1))
                        .results()
                        .flatMap(cell -> NUMBER.matcher(cell.group(1)).results())
                        .map(number -> Integer.parseInt(number.group()))
                        .filter(code -> code <= 128)
                        .collect(Collectors.toSet()))
                .toList();
        assertThat(tables).hasSize(2);
        assertThat(tables.get(0)).isEqualTo(codes(name -> !name.startsWith("RUN_")));
        assertThat(tables.get(1)).isEqualTo(codes(name -> name.startsWith("RUN_") || name.equals("USAGE")));
    }

    private static Set<Integer> codes(Predicate<String> which) {
        return Stream.of(ExitCode.class.getFields())
                .filter(field -> which.test(field.getName()))
                .map(DocsTest::valueOf)
                .collect(Collectors.toSet());
    }

    private static int valueOf(Field field) {
        try {
            return field.getInt(null);
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void helpSaysCommonWordsOnLinesThatFit() throws IOException {
        var words = CommonWords.read();
        var wrong = new ArrayList<String>();
        help(Main.commandLine(Spoken.around())).forEach(help -> {
            words.check(help.replaceAll("\\s+", " ")).forEach(wrong::add);
            help.lines().filter(line -> line.length() > 120).forEach(wrong::add);
        });
        assertThat(wrong).isEmpty();
    }

    /** Returns the help of a command and of all below it. */
    private static Stream<String> help(CommandLine line) {
        return Stream.concat(
                Stream.of(line.getUsageMessage()),
                line.getSubcommands().values().stream().flatMap(DocsTest::help));
    }

    private static int codeOf(String example) throws IOException, InterruptedException {
        var java = String.join(" ", Commands.java());
        var patient =
                "case $verb in ls|show|watch|end|reopen|delete|doctor|schema) set -- --timeout 30s \"$@\";; esac; ";
        var script = "bellwether() { verb=$1; shift; " + patient + java + " \"$verb\" \"$@\"; }; " + example;
        var builder = new ProcessBuilder("bash", "-c", script).redirectErrorStream(true);
        builder.environment().put("BELLWETHER_HOME", folder.toString());
        builder.environment().remove("BELLWETHER_ON");
        var process = builder.redirectOutput(folder.resolve("output").toFile()).start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(example).isTrue();
        assertThat(output()).doesNotContain("Exception");
        return process.exitValue();
    }

    /** Returns what the last example has printed. */
    private static String output() {
        try {
            return Files.readString(folder.resolve("output"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
