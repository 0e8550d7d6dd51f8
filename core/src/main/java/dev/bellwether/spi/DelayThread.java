package dev.bellwether.spi;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The daemon thread on which backends go on after a pause. It is not of the common pool, which an application may keep
 * busy, and there is one for all: what runs on it must not wait.
 *
 * <p>Thread-safe.
 */
public final class DelayThread {
    private static final Logger log = LoggerFactory.getLogger(DelayThread.class);
    private static final String NAME = "bellwether-delays";
    private static final long IDLE_SECONDS = 10;
    private static final ScheduledThreadPoolExecutor THREAD = new ScheduledThreadPoolExecutor(1, task -> {
        var thread = new Thread(task, NAME);
        thread.setDaemon(true);
        return thread;
    });

    static {
        THREAD.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        THREAD.allowCoreThreadTimeOut(true);
    }

    private DelayThread() {}

    /** Returns what runs each task on this thread, so long after it was given. */
    public static Executor after(Duration pause) {
        return task -> {
            var unused = THREAD.schedule(() -> run(task), pause.toNanos(), TimeUnit.NANOSECONDS);
        };
    }

    private static void run(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) { // nobody else is told
            log.error("a task on the thread {} has failed", NAME, e);
        }
    }
}
