package dev.bellwether.testkit.sim;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The threads that user code runs on in one world. They take turns with the world's own thread: at any time one of them
 * all runs, so that what they do is in an order that the seed decides. They sleep in virtual time.
 */
final class SimThreads {
    /** How long, in real time, user code may go without sleeping in virtual time before it is taken to be stuck. */
    private static final long PATIENCE_SECONDS = 20;

    private final World world;
    private final Semaphore engine = new Semaphore(0);
    private final List<Worker> workers = new ArrayList<>();
    private final ArrayDeque<Worker> idle = new ArrayDeque<>();
    private final List<Worker> awaiting = new ArrayList<>();
    private boolean closing;

    SimThreads(World world) {
        this.world = world;
    }

    /** Runs a piece until it ends or sleeps. */
    void start(SimProcess process, Runnable piece) {
        var worker = idle.poll();
        if (worker == null) {
            worker = new Worker("simulated-" + workers.size());
            workers.add(worker);
            worker.start();
        }
        worker.process = process;
        worker.piece = piece;
        worker.interrupted = false;
        handOver(worker);
    }

    /** Lets the calling worker sleep. */
    void sleep(Duration time) throws InterruptedException {
        var worker = here();
        var nap = ++worker.naps;
        world.agenda().in(time.toNanos(), () -> worker.wake(nap));
        rest(worker);
        if (worker.interrupted) {
            worker.interrupted = false;
            throw new InterruptedException();
        }
    }

    /** Lets the calling worker wait until something is so; returns whether it was within the time. */
    boolean await(BooleanSupplier condition, Duration timeout) throws InterruptedException {
        if (condition.getAsBoolean()) {
            return true;
        }
        var worker = here();
        worker.condition = condition;
        awaiting.add(worker);
        try {
            sleep(timeout);
        } finally {
            awaiting.remove(worker);
            worker.condition = null;
        }
        return condition.getAsBoolean();
    }

    /** Wakes who waits for something that is now so. */
    void look() {
        if (!awaiting.isEmpty()) {
            for (var worker : List.copyOf(awaiting)) {
                var condition = worker.condition;
                if (condition != null && condition.getAsBoolean()) {
                    awaiting.remove(worker);
                    worker.wakeNow();
                }
            }
        }
    }

    /** Ends all threads: what sleeps is thrown out of its sleep. */
    void close() {
        closing = true;
        for (var worker : workers) {
            worker.baton.release();
        }
        for (var worker : workers) {
            try {
                worker.join(1_000); // one that catches whatever it is thrown is left behind: a daemon
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private Worker here() {
        if (closing) {
            throw new Stopped();
        }
        if (Thread.currentThread() instanceof Worker worker && worker.crew() == this) {
            return worker;
        }
        throw new IllegalStateException(
                "only code that the simulated process runs may wait: " + Thread.currentThread());
    }

    private void handOver(Worker worker) {
        worker.baton.release();
        try {
            if (!engine.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                var stuck = new IllegalStateException("code of " + worker.process + " did not come back within "
                        + PATIENCE_SECONDS + " s: let it wait with SimProcess.sleep only");
                stuck.setStackTrace(worker.getStackTrace());
                throw stuck;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while simulating", e);
        }
    }

    private void rest(Worker worker) {
        engine.release();
        worker.baton.acquireUninterruptibly();
        if (closing) {
            throw new Stopped();
        }
    }

    /** Takes code that still sleeps at the end of the world out of its sleep. */
    private static final class Stopped extends Error {
        private static final long serialVersionUID = 1;

        private Stopped() {
            super("the simulated world has ended", null, false, false);
        }
    }

    private final class Worker extends Thread {
        private final Semaphore baton = new Semaphore(0);
        private @Nullable SimProcess process;
        private @Nullable Runnable piece;
        private @Nullable BooleanSupplier condition;
        private long naps;
        private boolean interrupted;

        private Worker(String name) {
            super(name);
            setDaemon(true);
        }

        private SimThreads crew() {
            return SimThreads.this;
        }

        @Override
        public void run() {
            while (true) {
                baton.acquireUninterruptibly();
                var todo = piece;
                if (closing || todo == null) {
                    return;
                }
                try {
                    todo.run();
                } catch (Stopped e) {
                    return;
                } catch (RuntimeException | Error e) {
                    world.violate("code of a process fails only where that is caught", process + ": " + e, e);
                }
                piece = null;
                if (closing) {
                    return;
                }
                interrupted = false; // an interrupt does not follow the thread into other work
                idle.add(this);
                engine.release();
            }
        }

        /**
         * Called by core, in a turn of the loop: wakes the worker in virtual time. Nothing is interrupted in real time.
         */
        @Override
        public void interrupt() {
            interrupted = true;
            wakeNow();
        }

        @Override
        public boolean isInterrupted() {
            return interrupted;
        }

        private void wakeNow() {
            var nap = naps;
            world.agenda().in(0, () -> wake(nap));
        }

        private void wake(long nap) {
            var owner = process;
            if (owner != null && nap == naps && piece != null) {
                owner.whenRunning(() -> {
                    if (nap == naps && piece != null) {
                        naps++; // whatever else was to wake it comes too late
                        handOver(this);
                    }
                });
            }
        }
    }
}
