package dev.bellwether.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The command itself: it does nothing without a verb. */
@Command(
        name = "bellwether",
        synopsisSubcommandLabel = "VERB",
        versionProvider = Main.Version.class,
        header = "Leader election on the infrastructure you already run.",
        commandListHeading = "%nVerbs:%n",
        footer = {
            "  bellwether demo",
            "      watch an election survive its leader, on this machine, with nothing set up",
            "  bellwether run nightly -- ./report.sh",
            "      run a script on one machine of many, and on another if that one dies",
            "  bellwether ls --on jdbc:postgresql://db/app",
            "      see who leads what",
            "",
            "The backend is what --on says, else the variable BELLWETHER_ON, else an SQLite file in",
            "BELLWETHER_HOME (default: ~/.local/state/bellwether) for processes of one machine.",
            "",
            "Exit codes: 0 all right; 1 failed, or you said no; 2 the command line is wrong;",
            "3 nobody leads (show, stand-down, hand-over), a partition has no owner (roles), or the",
            "file is missing or too old (file --check); 4 the backend does not answer; 5 a candidacy",
            "failed (file, serve, reap), or the election of reap was ended; 130 Ctrl-C and 143 SIGTERM.",
            "'run' has its own: see bellwether run --help"
        })
@SuppressWarnings("UnusedVariable") // picocli acts on these options; that they are declared is all
final class RootCommand implements Runnable {
    @Spec
    private @Nullable CommandSpec spec;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            scope = ScopeType.INHERIT,
            description = "Show this help.")
    private boolean help;

    @Option(
            names = {"-V", "--version"},
            versionHelp = true,
            description = "Show the version.")
    private boolean version;

    @Option(
            names = "--verbose",
            scope = ScopeType.INHERIT,
            description = "Show the library's log, and the cause of an error.")
    private boolean verbose;

    @Override
    public void run() {
        if (spec != null) {
            throw new MissingParameterException(spec.commandLine(), spec.args(), "a verb is missing");
        }
    }
}
