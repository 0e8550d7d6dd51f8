package dev.bellwether.cli.order;

import dev.bellwether.Election;
import dev.bellwether.Leader;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import java.util.Optional;
import picocli.CommandLine.Command;

/** {@code bellwether reopen} */
@Command(
        name = "reopen",
        header = "Open an election again that has ended.",
        description = "Candidates that stand from now on may lead, under a token that is higher than any before. Those"
                + " that stood when it ended are not brought back: start them again.",
        footer = {
            "  bellwether reopen migration-7 --yes",
            "",
            "Exit codes: 0 reopened; 1 it has not ended, or you said no; 2 not asked, because there is no terminal",
            "or --yes; 4 the backend does not answer."
        })
public final class ReopenCommand extends OrderCommand {
    public ReopenCommand(CommandEnvironment around) {
        super(around);
    }

    @Override
    String question(String election, Optional<Leader> leader) {
        return "Open \"" + election + "\" again?";
    }

    @Override
    boolean give(Election election) {
        return election.reopen();
    }

    @Override
    String done(String election, Optional<Leader> leader) {
        return "Reopened \"" + election + "\".";
    }

    @Override
    String notDone(String election) {
        return "\"" + election + "\" has not ended, so there is nothing to reopen.";
    }

    @Override
    int codeIfNotDone() {
        return ExitCode.FAILED;
    }
}
