package dev.bellwether.cli.order;

import dev.bellwether.Election;
import dev.bellwether.Leader;
import dev.bellwether.cli.command.CommandEnvironment;
import java.util.Optional;
import picocli.CommandLine.Command;

/** {@code bellwether end} */
@Command(
        name = "end",
        header = "End an election: all candidates are told, and none may join any more.",
        description = "The leader stands down in order. 'bellwether reopen' opens the election again.",
        footer = {
            "  bellwether end migration-7 --yes",
            "",
            "Exit codes: 0 ended; 1 there is no such election, or you said no; 2 not asked, because there is no",
            "terminal or --yes; 4 the backend does not answer."
        })
public final class EndCommand extends OrderCommand {
    public EndCommand(CommandEnvironment around) {
        super(around);
    }

    @Override
    String question(String election, Optional<Leader> leader) {
        return "Leader of \"" + election + "\": " + nameOf(leader) + ". End the election for all?";
    }

    @Override
    boolean give(Election election) {
        election.end();
        return true;
    }

    @Override
    String done(String election, Optional<Leader> leader) {
        return "Ended \"" + election + "\".";
    }
}
