package dev.bellwether.cli.order;

import dev.bellwether.Election;
import dev.bellwether.Leader;
import dev.bellwether.cli.command.CommandEnvironment;
import java.util.Optional;
import picocli.CommandLine.Command;

/** {@code bellwether delete} */
@Command(
        name = "delete",
        header = "Forget an election; the next candidates begin a new one.",
        description =
                "Candidates are told that it is over. Its token is kept, so that tokens still rise if the election"
                        + " is held again.",
        footer = {
            "  bellwether delete migration-7 --yes",
            "",
            "Exit codes: 0 deleted; 1 there is no such election, or you said no; 2 not asked, because there is no",
            "terminal or --yes; 4 the backend does not answer."
        })
public final class DeleteCommand extends OrderCommand {
    public DeleteCommand(CommandEnvironment around) {
        super(around);
    }

    @Override
    String question(String election, Optional<Leader> leader) {
        return "Leader of \"" + election + "\": " + nameOf(leader) + ". Delete the election?";
    }

    @Override
    boolean give(Election election) {
        election.delete();
        return true;
    }

    @Override
    String done(String election, Optional<Leader> leader) {
        return "Deleted \"" + election + "\".";
    }
}
