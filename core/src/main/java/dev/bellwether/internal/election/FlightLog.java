package dev.bellwether.internal.election;

import dev.bellwether.Cause;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Writes the terms and losses of one seat to the flight recorder of the JVM, if the JVM has one; it may have been
 * linked without.
 *
 * <p>Confined to the loop. Until somebody has the recorder set up, no event is made: the first one of a JVM takes a
 * fifth of a second of a processor, and it would take it when a mandate has just been granted.
 */
public final class FlightLog {
    private static final boolean PRESENT = isPresent();

    private @Nullable TermFlight open;
    private @Nullable Long beganNanos; // while a term has not ended

    /** Hears each turn of a candidacy, when it happens, not when the listener hears it. */
    public void turned(LeadershipEvent event, long nowNanos) {
        if (event instanceof LeadershipEvent.Acquired) {
            beganNanos = nowNanos;
            if (isOn()) {
                open = new TermFlight();
                open.begin();
            }
        } else if (event instanceof LeadershipEvent.Revoked revoked) {
            end(revoked.mandate(), revoked.cause(), nowNanos);
        } else if (event instanceof LeadershipEvent.Fenced fenced) {
            var overrun = beganNanos == null;
            end(fenced.mandate(), fenced.cause(), nowNanos);
            if (isOn()) {
                LossFlight.write(fenced.mandate(), fenced.cause(), overrun);
            }
        }
    }

    private void end(Mandate mandate, Cause cause, long nowNanos) {
        var began = beganNanos;
        var flight = open;
        beganNanos = null;
        open = null;
        if (began != null && isOn()) {
            var written = flight == null ? new TermFlight() : flight; // the recorder was set up in mid-term
            written.end(mandate, cause, nowNanos - began);
        }
    }

    private static boolean isOn() {
        return PRESENT && FlightRecorder.isInitialized();
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
