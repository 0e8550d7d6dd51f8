package dev.bellwether.cli.order;

import dev.bellwether.Election;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.UsageException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** An operator's order to an election, given when somebody has said yes. */
abstract class OrderCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(paramLabel = "ELECTION", description = "Its name.")
    private String election = "";

    @Option(
            names = {"-y", "--yes"},
            description = "Do not ask. Without it, and without a terminal to ask on, nothing is done.")
    private boolean yes;

    @Option(names = "--force", description = "Do it even if no such election is known.")
    private boolean force;

    @Option(names = "--json", description = "Print one JSON document.")
    private boolean json;

    OrderCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    /** Returns the question to ask. */
    abstract String question(String election, Optional<Leader> leader);

    /** Gives the order; returns false if there was nobody to order. */
    abstract boolean give(Election election);

    /** Returns how long it takes beyond what the backend takes to answer. */
    Duration takes() {
        return Duration.ZERO;
    }

    /** Returns whether it is refused where no such election is known: it would leave something behind. */
    boolean mustBeKnown() {
        return true;
    }

    /** Returns what was done, in words. */
    abstract String done(String election, Optional<Leader> leader);

    /** Returns what else a program may want to know of what was done. */
    Map<String, String> details() {
        return Map.of();
    }

    /** Returns the leader that is shown to a program: the one from before the order. */
    Optional<Leader> after(Optional<Leader> before) {
        return before;
    }

    /** Returns what to say if there was nobody to order. */
    String notDone(String election) {
        return "Nobody leads \"" + election + "\".";
    }

    /** Returns what to exit with then. */
    int codeIfNotDone() {
        return ExitCode.NOBODY_LEADS;
    }

    @Override
    public final Integer call() throws Exception {
        BackendOptions.checked(election);
        if (!yes && (json || !around.inIsTerminal() || !around.outIsTerminal())) {
            throw new UsageException(
                    json
                            ? "--json cannot ask for confirmation. Add --yes."
                            : "There is no terminal to ask on. Add --yes.");
        }
        try (var connected = target.connect()) {
            var elections = connected.elections();
            var seat = elections.election(election);
            var leader = connected.ask(seat::leader);
            if (!force && mustBeKnown() && leader.isEmpty() && !connected.ask(() -> isKnown(elections))) {
                around.complain("there is no election \"" + election
                        + "\", so nothing was done: 'bellwether ls' shows those that there are, and --force does it"
                        + " anyway");
                return ExitCode.FAILED;
            }
            if (!yes) {
                if (!around.confirm(question(election, leader))) {
                    around.err().println("Nothing was done.");
                    return ExitCode.FAILED;
                }
                connected.again();
            }
            connected.allow(takes());
            var given = connected.ask(() -> give(seat));
            if (json) {
                around.out().println(Json.object(json -> {
                    json.writeStringField("election", election);
                    json.writeBooleanField("done", given);
                    for (var detail : details().entrySet()) {
                        json.writeStringField(detail.getKey(), detail.getValue());
                    }
                    Json.leader(json, after(leader));
                }));
            } else {
                around.say(given ? done(election, leader) : notDone(election));
            }
            return given ? ExitCode.OK : codeIfNotDone();
        }
    }

    private boolean isKnown(Elections elections) {
        var state = elections.election(election).state();
        return state.ended()
                || !state.candidates().isEmpty()
                || elections.list().contains(election);
    }

    static String nameOf(Optional<Leader> leader) {
        return leader.map(one -> one.candidate() + " (token " + one.token() + ")")
                .orElse("nobody");
    }
}
