package dev.bellwether.testkit.sim;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** A world in which somebody else chooses what happens next. Made again for each history. Confined to one thread. */
interface Chosen {
    /** What does not happen on a good day. */
    enum Deviation {
        /** An answer comes late, or never; what was asked is carried out late, or never. */
        ANSWER,
        /** A request is carried out twice. */
        DOUBLE,
        /** A process stands still, or its machine is suspended. */
        STALL,
        /** A call throws. */
        THROW,
        /** Somebody resigns, or is ordered to stand down; somebody's work hangs. */
        END,
        /** A reader loses a part of a log. */
        GAP
    }

    /**
     * Something that can happen next.
     *
     * @param deviation null if it may happen as often as it likes
     */
    record Step(String name, @Nullable Deviation deviation, Runnable what) {
        boolean isFault() {
            return deviation != null;
        }
    }

    /** Returns all that can happen next, always in the same order. */
    List<Step> steps();

    /** Takes a step, and looks whether all is as it must be. */
    void take(Step step);

    /** Returns what must never be, and was. */
    @Nullable
    String violation();

    /** Returns how many mandates there were. */
    int mandates();

    /** Writes down all that decides what can happen from here on, and what is known of what did. */
    String state();
}
