package dev.bellwether.testkit;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.stream.IntStream;

/**
 * The numbers of things that tests of one JVM share, such as links to a cluster, when several tests run at a time: a
 * number is one test's until that gives it back. The lowest that is free comes first. Thread-safe.
 */
public final class FreeNumbers {
    private final Queue<Integer> free = new PriorityBlockingQueue<>();

    /** Has the numbers from 0 to below this. */
    public FreeNumbers(int count) {
        IntStream.range(0, count).forEach(free::add);
    }

    /** Returns what one test takes of them. */
    public Taken begin() {
        return new Taken();
    }

    /** What one test has taken. Confined to the thread of the test. */
    public final class Taken implements AutoCloseable {
        private final List<Integer> numbers = new ArrayList<>();

        private Taken() {}

        /** Returns another number. */
        public int next() {
            var number = free.poll();
            if (number == null) {
                throw new IllegalStateException("all numbers are taken, " + numbers + " of them here");
            }
            numbers.add(number);
            return number;
        }

        /** Gives all of them back. */
        @Override
        public void close() {
            free.addAll(numbers);
            numbers.clear();
        }
    }
}
