package dev.bellwether.testkit.sim;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Locale;

/** What happened, as lines: kept only when a seed is replayed, for the sake of speed. */
final class Trace {
    private static final int LONGEST = 4_000;

    private final Agenda agenda;
    private boolean on;
    private final ArrayDeque<String> lines = new ArrayDeque<>();
    private long dropped;

    Trace(Agenda agenda, boolean on) {
        this.agenda = agenda;
        this.on = on;
    }

    /** Whether anybody will read it: ask before making a costly line. */
    boolean isOn() {
        return on;
    }

    void line(String who, String what) {
        if (on) {
            if (lines.size() == LONGEST) {
                lines.removeFirst();
                dropped++;
            }
            lines.add(String.format(Locale.ROOT, "%14.6f s  %-10s %s", agenda.now() / 1e9, who, what));
        }
    }

    /** What follows is of no interest. */
    void end() {
        on = false;
    }

    List<String> lines() {
        return List.copyOf(lines);
    }

    long dropped() {
        return dropped;
    }
}
