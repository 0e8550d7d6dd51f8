package dev.bellwether.testkit.faults;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.EventLog;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Bellwether's own candidates, by the address that is connected to; the backend is found on the class path. */
public final class BellwetherContestant implements Contestant.Maker {
    private static final long RETRY_MILLIS = 100;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** For the process that stands. */
    public BellwetherContestant() {}

    @Override
    public Contestant stand(Contestant.Orders orders) throws InterruptedException {
        return stand(connect(orders.uri()), orders);
    }

    /** Stands over a connection that was made otherwise than by the address, and closes that at the end. */
    public static Contestant stand(Elections elections, Contestant.Orders orders) {
        var log = new EventLog(event -> orders.held().run());
        var candidacy = elections.stand(
                orders.election(),
                CandidacyConfig.builder()
                        .candidate(orders.candidate())
                        .lease(orders.lease())
                        .listener(event -> {
                            log.onEvent(event);
                            pair(log, false, orders);
                        })
                        .build());
        var work = new Work(orders.stubborn());
        candidacy.whileLeading(mandate -> work.runStep());
        return new Standing(elections, candidacy, log, work, orders);
    }

    private static Elections connect(String uri) throws InterruptedException {
        while (true) {
            try {
                return Elections.connect(uri);
            } catch (UnavailableException e) {
                TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
            }
        }
    }

    private static boolean isPaired(EventLog log) {
        try {
            log.requirePaired(true);
            return true;
        } catch (AssertionError e) {
            return false;
        }
    }

    private static void pair(EventLog log, boolean over, Contestant.Orders orders) {
        try {
            log.requirePaired(over);
        } catch (AssertionError e) {
            orders.faults().accept(String.valueOf(e.getMessage()));
        }
    }

    /** A task in steps; a stubborn one ends only when it is interrupted. */
    private static final class Work {
        private static final long STEP_MILLIS = 20;

        private final BooleanSupplier stubborn;
        private volatile boolean running;

        Work(BooleanSupplier stubborn) {
            this.stubborn = stubborn;
        }

        void runStep() throws InterruptedException {
            running = true;
            try {
                do {
                    TimeUnit.MILLISECONDS.sleep(STEP_MILLIS);
                } while (stubborn.getAsBoolean());
            } finally {
                running = false;
            }
        }

        boolean endsWithin(Duration patience) {
            var until = System.nanoTime() + patience.toNanos();
            while (running && System.nanoTime() - until < 0) {
                LockSupport.parkNanos(1_000_000);
            }
            return !running;
        }
    }

    private record Standing(Elections elections, Candidacy candidacy, EventLog log, Work work, Contestant.Orders orders)
            implements Contestant {
        @Override
        public boolean isLeader() {
            return candidacy.isLeader();
        }

        @Override
        public long token() {
            return candidacy.status().token();
        }

        @Override
        public void close() {
            candidacy.close();
            var ended = candidacy.departure().isPresent(); // else nobody waited, or not for long enough
            if (ended) {
                pair(log, true, orders);
            }
            elections.close();
            if (!ended) {
                afterwards();
            }
        }

        /** Its work is interrupted in the end, and then its events are complete. */
        private void afterwards() {
            Thread.interrupted();
            if (!work.endsWithin(PATIENCE)) {
                orders.faults().accept("work goes on after all is closed, and nobody interrupts it");
            }
            var until = System.nanoTime() + PATIENCE.toNanos();
            while (!isPaired(log) && System.nanoTime() - until < 0) {
                LockSupport.parkNanos(1_000_000);
            }
            pair(log, false, orders);
            if (!isPaired(log)) {
                orders.faults().accept("no end of a mandate was heard after all was closed: " + log);
            }
        }
    }
}
