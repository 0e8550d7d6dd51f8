package dev.bellwether.testkit.sim;

import java.util.List;
import java.util.function.Supplier;
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
     * @param name made when it is asked for, since hardly any step is ever told
     * @param deviation null if it may happen as often as it likes
     */
    record Step(Supplier<String> name, @Nullable Deviation deviation, Runnable what) {
        boolean isFault() {
            return deviation != null;
        }
    }

    /** What has happened when the exploring begins: the same each time, without what is chosen. */
    enum Situation {
        /** All stand, and nobody has done anything. */
        BEGINNING("nobody leads yet"),
        /** The first leads; the others have seen that, and wait. */
        LED("one leads"),
        /** The first leads, and has renewed once since the others saw that. */
        RENEWED("one has renewed"),
        /** The first has claimed: that was carried out, and it does not know. The others wait. */
        CLAIMED("one does not know that it leads"),
        /** The first leads, and renews: that was carried out, and for a while it does not know. The others wait. */
        RENEWING("one does not know that it has renewed"),
        /** The first led, and stands still since. The second leads, and the first does not know. */
        REPLACED("one does not know that another leads");

        private final String words;

        Situation(String words) {
            this.words = words;
        }

        @Override
        public String toString() {
            return words;
        }
    }

    /** Returns the steps that led to where the exploring begins. */
    List<String> begun();

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
