package dev.bellwether.internal.election;

import dev.bellwether.Cause;
import dev.bellwether.Mandate;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A candidate was fenced, in the flight recorder. */
@Name("dev.bellwether.Loss")
@Label("Leadership lost")
@Description("A candidate of this process was fenced: another may lead already")
@Category("Bellwether")
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // the recorder reads them
final class LossFlight extends Event {
    @Label("Election")
    private @Nullable String election;

    @Label("Candidate")
    private @Nullable String candidate;

    @Label("Token")
    private long token;

    @Label("Cause")
    private @Nullable String cause;

    @Label("Overrun")
    @Description("The mandate had ended in order, but the work outlasted the stand-down budget")
    private boolean overrun;

    static void write(Mandate mandate, Cause cause, boolean overrun) {
        var flight = new LossFlight();
        if (flight.shouldCommit()) {
            flight.election = mandate.election();
            flight.candidate = mandate.candidate();
            flight.token = mandate.token();
            flight.cause = cause.name();
            flight.overrun = overrun;
            flight.commit();
        }
    }
}
