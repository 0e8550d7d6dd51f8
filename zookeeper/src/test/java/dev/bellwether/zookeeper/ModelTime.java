package dev.bellwether.zookeeper;

import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Loop;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/** Simulated time: what is to happen when, in the order in which it was entered. Confined to one thread. */
final class ModelTime {
    private final PriorityQueue<Event> agenda =
            new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::number));
    private long number;
    private long now;

    private record Event(long at, long number, Runnable turn) {}

    ModelTime(long now) {
        this.now = now;
    }

    long now() {
        return now;
    }

    /** Does this when that time has come. */
    void schedule(long at, Runnable turn) {
        agenda.add(new Event(Math.max(now, at), number++, turn));
    }

    /** Does this when so much time has passed. */
    void after(long nanos, Runnable turn) {
        schedule(now + nanos, turn);
    }

    /** Lets time pass until then; after each event does this. */
    void run(long until, Runnable afterEach) {
        while (!agenda.isEmpty() && agenda.element().at() <= until) {
            var event = agenda.remove();
            now = event.at();
            event.turn().run();
            afterEach.run();
        }
        now = until;
    }

    /** One way between two, in order, with a delay that is drawn for each message. */
    final class Link {
        private final SplittableRandom random;
        private long delay;
        private long last;

        Link(SplittableRandom random, long delay) {
            this.random = random;
            this.delay = delay;
        }

        /** From now on nothing takes longer than this. */
        void quicken(long atMost) {
            delay = Math.min(delay, atMost);
        }

        void send(Runnable arrival) {
            last = Math.max(last, now + 1 + random.nextLong(delay));
            schedule(last, arrival);
        }
    }

    /** A loop of one process, which may be paused. */
    final class ProcessLoop implements Loop {
        private final SplittableRandom random;
        private long runsAgainAt;
        private boolean withoutMemory;

        ProcessLoop(SplittableRandom random) {
            this.random = random;
        }

        void pause(long nanos) {
            runsAgainAt = Math.max(runsAgainAt, now + nanos);
        }

        /** The next turn finds no memory. */
        void runOutOfMemory() {
            withoutMemory = true;
        }

        @Override
        public void execute(Runnable turn) {
            if (withoutMemory) {
                withoutMemory = false;
                throw new OutOfMemoryError("by the test");
            }
            schedule(now, () -> run(turn));
        }

        private void run(Runnable turn) {
            if (now < runsAgainAt) {
                schedule(runsAgainAt, () -> run(turn));
            } else {
                turn.run();
            }
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            var cancelled = new boolean[1];
            schedule(
                    nanos,
                    () -> run(() -> {
                        if (!cancelled[0]) {
                            turn.run();
                        }
                    }));
            return () -> cancelled[0] = true;
        }

        @Override
        public Clock clock() {
            return new Clock() {
                @Override
                public long nanos() {
                    return now;
                }

                @Override
                public long wallMillis() {
                    return now / 1_000_000;
                }
            };
        }

        @Override
        public RandomGenerator random() {
            return random;
        }

        @Override
        public void close() {}
    }
}
