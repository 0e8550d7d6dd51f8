package dev.bellwether.cli.command;

import dev.bellwether.HandOver;
import dev.bellwether.Leader;
import java.time.Duration;
import java.util.Optional;

/** What became of a hand-over, for people. */
public final class HandOverWords {
    private HandOverWords() {}

    /**
     * Returns it in a sentence or two.
     *
     * @param to to which candidate it was to be; empty for any
     * @param within how long that had to get ready
     */
    public static String of(HandOver done, String election, Optional<String> to, Duration within) {
        return switch (done.outcome()) {
            case DONE -> nameOf(done.leader()) + " leads \"" + election + "\".";
            case NOBODY_LEADS -> "Nobody leads \"" + election + "\".";
            case NOT_A_CANDIDATE ->
                to.map(id -> "\"" + id + "\" does not stand for \"" + election + "\".")
                                .orElse("Nobody stands by for \"" + election + "\".")
                        + " Nothing was done: 'bellwether show " + election + "' lists the candidates.";
            case UNDER_WAY -> "Another hand-over of \"" + election + "\" is under way. Nothing was done.";
            case NOT_READY ->
                to.map(id -> id + " was not").orElse("No standby was") + " ready within "
                        + CommandDurations.show(within) + ". " + nameOf(done.leader()) + " leads on.";
            case TAKEN_BY_ANOTHER -> "Another leads \"" + election + "\": " + nameOf(done.leader()) + ".";
        };
    }

    private static String nameOf(Optional<Leader> leader) {
        return leader.map(one -> one.candidate() + " (token " + one.token() + ")")
                .orElse("nobody");
    }
}
