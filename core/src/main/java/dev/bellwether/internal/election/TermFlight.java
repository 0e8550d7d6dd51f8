package dev.bellwether.internal.election;

import dev.bellwether.Cause;
import dev.bellwether.Mandate;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** One term, in the flight recorder. */
@Name("dev.bellwether.Term")
@Label("Term of leadership")
@Description("A candidate of this process held the mandate of an election, from the grant to its end")
@Category("Bellwether")
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // the recorder reads them
final class TermFlight extends Event {
    @Label("Election")
    private @Nullable String election;

    @Label("Candidate")
    private @Nullable String candidate;

    @Label("Token")
    private long token;

    @Label("Cause of its end")
    private @Nullable String cause;

    @Label("Held")
    @Description("Correct even if the recording began in mid-term")
    @Timespan
    private long heldNanos;

    void end(Mandate mandate, Cause cause, long heldNanos) {
        end();
        if (shouldCommit()) {
            election = mandate.election();
            candidate = mandate.candidate();
            token = mandate.token();
            this.cause = cause.name();
            this.heldNanos = heldNanos;
            commit();
        }
    }
}
