package dev.bellwether.internal.election;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import org.jspecify.annotations.Nullable;

/**
 * Writes the terms and losses of one seat to the flight recorder of the JVM, if the JVM has one; it may have been
 * linked without.
 *
 * <p>Confined to the loop. A recorder that is off costs a look at a flag.
 */
public final class FlightLog {
    private static final boolean PRESENT = isPresent();

    private @Nullable TermFlight open;
    private long beganNanos;

    /** Hears each turn of a candidacy, when it happens, not when the listener hears it. */
    public void turned(LeadershipEvent event, long nowNanos) {
        if (!PRESENT) {
            return;
        }
        if (event instanceof LeadershipEvent.Acquired) {
            var flight = new TermFlight();
            flight.begin();
            open = flight;
            beganNanos = nowNanos;
        } else if (event instanceof LeadershipEvent.Revoked revoked) {
            end(revoked.mandate(), revoked.cause(), nowNanos);
        } else if (event instanceof LeadershipEvent.Fenced fenced) {
            var overrun = open == null;
            end(fenced.mandate(), fenced.cause(), nowNanos);
            LossFlight.write(fenced.mandate(), fenced.cause(), overrun);
        }
    }

    private void end(Mandate mandate, Cause cause, long nowNanos) {
        var flight = open;
        open = null;
        if (flight != null) {
            flight.end(mandate, cause, nowNanos - beganNanos);
        }
    }

    private static boolean isPresent() {
        try {
            Class.forName("jdk.jfr.Event", false, FlightLog.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }
}
