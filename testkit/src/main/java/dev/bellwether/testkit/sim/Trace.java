package dev.bellwether.testkit.sim;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** What happened, as lines: kept only when a seed is replayed, for the sake of speed. */
final class Trace {
    private static final int LONGEST = 4_000;

    private final Agenda agenda;
    private boolean on;
    private final ArrayDeque<String> lines = new ArrayDeque<>();
    private long dropped;
    private @Nullable BiConsumer<String, String> reader;

    Trace(Agenda agenda, boolean on) {
        this.agenda = agenda;
        this.on = on;
    }

    /** Whether anybody will read it: ask before making a costly line. */
    boolean isOn() {
        return on;
    }

    /** Lets somebody read each line as it is written: who, and what. */
    void readBy(BiConsumer<String, String> reader) {
        this.reader = reader;
    }

    void line(String who, String what) {
        if (on) {
            if (reader != null) {
                reader.accept(who, what);
            }
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
