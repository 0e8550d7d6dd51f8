package dev.bellwether.testkit;

import java.lang.management.ManagementFactory;

/**
 * For how long a thread has waited, for locks or for others: not what a busy machine took of its processor, nor what a
 * collector took of both.
 */
public final class Waits {
    private Waits() {}

    /** Returns for how many milliseconds this thread has waited, to be compared with what it has waited later. */
    public static long millis() {
        var threads = ManagementFactory.getThreadMXBean();
        threads.setThreadContentionMonitoringEnabled(true);
        var us = threads.getThreadInfo(Thread.currentThread().getId());
        return us.getBlockedTime() + us.getWaitedTime();
    }
}
