package dev.bellwether.testkit.sim;

import java.time.Duration;
import java.util.Locale;

/**
 * What a simulation that found nothing did.
 *
 * @param worlds how many seeds were simulated
 * @param virtual how much time passed in them, together
 * @param real how long that took
 * @param mandates how many mandates were held in them
 * @param events how many turns, messages and timers there were, about
 */
public record Report(long worlds, Duration virtual, Duration real, long mandates, long events) {

    /** Returns how many seeds were simulated per second. */
    public double worldsPerSecond() {
        return worlds / Math.max(1e-9, real.toNanos() / 1e9);
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%d seeds in %.1f s, %.0f seeds per second: %.1f h of virtual time, %d mandates, %d events",
                worlds,
                real.toNanos() / 1e9,
                worldsPerSecond(),
                virtual.toSeconds() / 3600.0,
                mandates,
                events);
    }
}
