package dev.bellwether.cli;

import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code bellwether completion} */
@Command(
        name = "completion",
        header = "Print a script that completes verbs and options in your shell.",
        footer = {
            "  source <(bellwether completion bash)                       for this shell",
            "  bellwether completion bash > ~/.local/share/bash-completion/completions/bellwether",
            "  source <(bellwether completion zsh)                        in ~/.zshrc, after compinit"
        })
final class CompletionCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Spec
    private @Nullable CommandSpec spec;

    @SuppressWarnings("UnusedVariable") // the script finds out by itself which of the two runs it
    @Parameters(paramLabel = "SHELL", description = "One of: ${COMPLETION-CANDIDATES}.")
    private Shell shell = Shell.BASH;

    /** Shells that we can complete in; one script does for both. */
    enum Shell {
        BASH,
        ZSH;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    CompletionCommand(CommandEnvironment around) {
        this.around = around;
    }

    @Override
    public Integer call() {
        if (spec != null) {
            around.out().print(AutoComplete.bash("bellwether", spec.root().commandLine()));
            around.out().flush();
        }
        return ExitCode.OK;
    }
}
