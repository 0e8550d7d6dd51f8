package dev.bellwether.cli.order;

import dev.bellwether.Election;
import dev.bellwether.Leader;
import dev.bellwether.cli.command.CommandEnvironment;
import java.util.Optional;
import picocli.CommandLine.Command;

/** {@code bellwether stand-down} */
@Command(
        name = "stand-down",
        header = "Order the leader to stand down, so that another takes the seat.",
        description = "The leader ends its work first, then hands over, and does not stand for a lease. If nobody else"
                + " stands, it may lead again after that.",
        footer = {
            "  bellwether stand-down billing",
            "  bellwether stand-down billing --yes      in a script",
            "",
            "Exit codes: 0 ordered; 1 you said no; 2 not asked, because there is no terminal or --yes;",
            "3 nobody leads; 4 the backend does not answer."
        })
public final class StandDownCommand extends OrderCommand {
    public StandDownCommand(CommandEnvironment around) {
        super(around);
    }

    @Override
    String question(String election, Optional<Leader> leader) {
        return "Leader of \"" + election + "\": " + nameOf(leader) + ". Order it to stand down?";
    }

    @Override
    boolean mustBeKnown() {
        return false;
    }

    @Override
    boolean give(Election election) {
        return election.standDown();
    }

    @Override
    String done(String election, Optional<Leader> leader) {
        return "Ordered " + nameOf(leader) + " to stand down from \"" + election + "\".";
    }
}
