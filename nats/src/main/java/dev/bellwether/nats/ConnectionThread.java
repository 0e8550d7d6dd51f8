package dev.bellwether.nats;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A thread of a connection of ours, which is interrupted by its executor only, as the client does when it ends a task.
 * When anybody else interrupts what hands answers on, the client ends that, and never begins it again: it would be deaf
 * over each connection that it makes.
 */
final class ConnectionThread extends Thread {
    private static final StackWalker CALLERS = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private static final String EXECUTORS = ExecutorService.class.getPackageName();
    private static final long IDLE_MILLIS = 500;

    private ConnectionThread(Runnable task, String name) {
        super(task, name);
        setDaemon(false);
    }

    /** Returns what the client would make for a connection of this name, with such threads. They end when idle. */
    static ExecutorService executor(String name) {
        var number = new AtomicInteger();
        return new ThreadPoolExecutor(
                0,
                Integer.MAX_VALUE,
                IDLE_MILLIS,
                TimeUnit.MILLISECONDS,
                new SynchronousQueue<>(),
                task -> new ConnectionThread(task, name + ':' + number.incrementAndGet()));
    }

    @Override
    public void interrupt() {
        if (equals(Thread.currentThread())
                || CALLERS.getCallerClass().getPackageName().equals(EXECUTORS)) {
            super.interrupt();
        }
    }
}
