package dev.bellwether.testkit.faults;

import dev.bellwether.Candidacy;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Looks all the time whether one candidate leads, on a thread of its own, and writes down its terms: certain leadership
 * runs from the end of the first look that says so to the beginning of the last.
 */
public final class LeadershipSampler implements AutoCloseable {
    static final String THREAD = "bellwether-look";
    private static final long CLEAR_NANOS = 5_000_000;

    private final Subject subject;
    private final TermFile file;
    private final long betweenNanos;
    private final Thread thread = new Thread(this::look, THREAD);

    /** Who is looked at. */
    public interface Subject {
        /** Returns whether it leads now. */
        boolean isLeader();

        /** Returns the token of the mandate while leading, else of the last one, or any. Another for each mandate. */
        long token();

        /** Returns a candidacy as one to be looked at. */
        static Subject of(Candidacy candidacy) {
            return new Subject() {
                @Override
                public boolean isLeader() {
                    return candidacy.isLeader();
                }

                @Override
                public long token() {
                    return candidacy.status().token();
                }
            };
        }
    }

    /** Begins to look, with so much rest between two looks. */
    public LeadershipSampler(Subject subject, TermFile file, Duration between) {
        this.subject = subject;
        this.file = file;
        betweenNanos = between.toNanos();
        thread.setDaemon(true);
        thread.start();
    }

    private void look() {
        var leads = false;
        var leadsBy = 0L;
        while (!Thread.currentThread().isInterrupted()) {
            var token = subject.token();
            var before = System.nanoTime();
            var now = subject.isLeader();
            var after = System.nanoTime();
            if (now && subject.token() != token) {
                continue; // of which mandate it spoke is not clear
            }
            if (now && !leads && after - before > CLEAR_NANOS) {
                continue; // nor at which instant, if it was stopped meanwhile: it may be over by now
            }
            if (leads && (!now || leadsBy != token)) {
                file.end();
                leads = false;
            }
            if (now && leads) {
                file.stillLeading(before);
            } else if (now) {
                file.begin(token, after);
                leads = true;
                leadsBy = token;
            }
            LockSupport.parkNanos(betweenNanos);
        }
        if (leads) {
            file.end();
        }
    }

    /** Looks no more; what it saw is written. */
    @Override
    public void close() {
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
