package dev.bellwether.testkit.sim;

import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/** What is to happen when, in true time: by time, then in the order in which it was entered. Confined to one world. */
final class Agenda {
    private final PriorityQueue<Entry> entries = new PriorityQueue<>();
    private long now;
    private long order;

    long now() {
        return now;
    }

    /** Enters something; what lies in the past happens now, after what is entered for now already. */
    void at(long time, Runnable what) {
        entries.add(new Entry(Math.max(time, now), order++, what));
    }

    void in(long delayNanos, Runnable what) {
        at(now + Math.max(0, delayNanos), what);
    }

    /**
     * Lets the next thing happen if it is not later than the given time; else moves on to that time, and returns false.
     */
    boolean step(long until) {
        var next = entries.peek();
        if (next == null || next.time > until) {
            now = Math.max(now, until);
            return false;
        }
        entries.poll();
        now = next.time;
        next.what.run();
        return true;
    }

    /** Returns how many things happened so far, about. */
    long entered() {
        return order - entries.size();
    }

    private record Entry(long time, long order, Runnable what) implements Comparable<Entry> {
        @Override
        public int compareTo(@Nullable Entry other) {
            if (other == null) {
                throw new NullPointerException();
            }
            var byTime = Long.compare(time, other.time);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }
}
