package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.CommonWords;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
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
                assertThat(codeOf(line)).as(line).isEqualTo(code);
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
        Optional.ofNullable(line.getSubcommands().get("run")).orElseThrow().getCommandSpec().options().stream()
                .map(OptionSpec::longestName)
                .filter(name -> !List.of("--help", "--quiet").contains(name))
                .forEach(name -> assertThat(page).contains("`" + name).contains(name));
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
        var patient = "case $verb in ls|show|watch|end|reopen|delete|doctor) set -- --timeout 30s \"$@\";; esac; ";
        var script = "bellwether() { verb=$1; shift; " + patient + java + " \"$verb\" \"$@\"; }; " + example;
        var builder = new ProcessBuilder("bash", "-c", script).redirectErrorStream(true);
        builder.environment().put("BELLWETHER_HOME", folder.toString());
        builder.environment().remove("BELLWETHER_ON");
        var output = folder.resolve("output");
        var process = builder.redirectOutput(output.toFile()).start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(example).isTrue();
        assertThat(Files.readString(output)).doesNotContain("Exception");
        return process.exitValue();
    }
}
