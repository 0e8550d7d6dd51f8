package dev.bellwether.cli.order;

import dev.bellwether.Election;
import dev.bellwether.HandOver;
import dev.bellwether.HandOver.Outcome;
import dev.bellwether.Leader;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.HandOverWords;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bellwether hand-over} */
@Command(
        name = "hand-over",
        header = "Hand the seat over to a standby that has got ready for it.",
        description = "The standby gets ready while the leader leads on. When it is ready, the leader ends its work and"
                + " the standby takes the seat. If it is not ready in time, the leader leads on.",
        footer = {
            "  bellwether hand-over billing --to pod-7",
            "  bellwether hand-over billing --within 2m --yes    to the one that is ready first",
            "",
            "Exit codes: 0 the standby leads; 1 it does not, or you said no; 2 not asked, because there is no",
            "terminal or --yes; 3 nobody leads; 4 the backend does not answer, or the outcome is not known."
        })
public final class HandOverCommand extends OrderCommand {
    private static final Duration SEAT_PASSES = Duration.ofSeconds(30);

    @Option(
            names = "--to",
            paramLabel = "ID",
            description = "The candidate that is to lead. Default: the one that is ready first.")
    private Optional<String> to = Optional.empty();

    @Option(
            names = "--within",
            paramLabel = "TIME",
            defaultValue = "30s",
            converter = CommandDurations.class,
            description = "How long it may take to get ready. Default: ${DEFAULT-VALUE}.")
    private Duration within = Duration.ofSeconds(30);

    private HandOver done = new HandOver(Outcome.NOBODY_LEADS, Optional.empty());

    public HandOverCommand(CommandEnvironment around) {
        super(around);
    }

    @Override
    String question(String election, Optional<Leader> leader) {
        return "Leader of \"" + election + "\": " + nameOf(leader) + ". Hand over to "
                + to.orElse("the standby that is ready first") + "?";
    }

    @Override
    boolean mustBeKnown() {
        return false;
    }

    @Override
    Duration takes() {
        return within.plus(SEAT_PASSES);
    }

    @Override
    boolean give(Election election) {
        done = to.isPresent() ? election.handOver(to.get(), within) : election.handOver(within);
        return done.isDone();
    }

    @Override
    String done(String election, Optional<Leader> leader) {
        return notDone(election);
    }

    @Override
    Map<String, String> details() {
        return Map.of("outcome", done.outcome().name().toLowerCase(Locale.ROOT).replace('_', '-'));
    }

    @Override
    Optional<Leader> after(Optional<Leader> before) {
        return done.leader();
    }

    @Override
    String notDone(String election) {
        return HandOverWords.of(done, election, to, within);
    }

    @Override
    int codeIfNotDone() {
        return done.outcome() == Outcome.NOBODY_LEADS ? ExitCode.NOBODY_LEADS : ExitCode.FAILED;
    }
}
