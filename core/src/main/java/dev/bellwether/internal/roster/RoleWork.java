package dev.bellwether.internal.roster;

import dev.bellwether.Metrics;
import dev.bellwether.NotLeaderException;
import dev.bellwether.RoleTask;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.internal.election.LocalMandate;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.internal.loop.SerialExecutor;
import dev.bellwether.internal.loop.TaskEnd;
import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the tasks of the roles that are led here: each role's steps one after another, and so many at once.
 *
 * <p>Confined to the loop. A step is handed to the executor only when it may begin, so that nothing that waits here
 * holds up a partition that is to move on.
 */
final class RoleWork {
    private static final Logger log = LoggerFactory.getLogger(Roster.class);

    private final String name;
    private final RoleTask task;
    private final int parallelism;
    private final Duration interval;
    private final Duration retry;
    private final Loop loop;
    private final Executor executor;
    private final Metrics metrics;
    private final IntConsumer ended;
    private final Map<Integer, Job> jobs = new HashMap<>();
    private final ArrayDeque<Job> due = new ArrayDeque<>();
    private final Set<Job> running = new LinkedHashSet<>();
    private final ThreadLocal<Boolean> here = ThreadLocal.withInitial(() -> false);

    /** Told of a partition when a step of one of its roles has ended. */
    RoleWork(
            String name,
            RoleTask task,
            RosterConfig config,
            Loop loop,
            Executor executor,
            Metrics metrics,
            IntConsumer ended) {
        this.name = name;
        this.task = task;
        parallelism = config.parallelism();
        interval = config.taskInterval();
        retry = config.candidacy().retryInterval();
        this.loop = loop;
        this.executor = executor;
        this.metrics = metrics;
        this.ended = ended;
    }

    /** Runs the tasks of these roles from now on. */
    void start(int partition, List<Integer> roles, LocalMandate mandate) {
        for (var role : roles) {
            var before = jobs.get(role);
            if (before == null || before.mandate != mandate) {
                var job = new Job(role, partition, mandate);
                jobs.put(role, job);
                var last = running.stream().filter(one -> one.role == role).findFirst();
                if (last.isPresent()) {
                    last.get().successor = job;
                } else {
                    queue(job);
                }
            }
        }
        next();
    }

    /** Lets no further step of these roles begin. */
    void stop(List<Integer> roles) {
        for (var role : roles) {
            var job = jobs.remove(role);
            if (job != null) {
                job.stop();
            }
        }
    }

    /** Interrupts what runs for a partition. */
    void interrupt(int partition) {
        for (var job : List.copyOf(running)) {
            if (job.partition == partition) {
                job.serial.interrupt();
            }
        }
    }

    /** Returns whether a step runs for a partition. */
    boolean runs(int partition) {
        for (var job : running) {
            if (job.partition == partition && !job.serial.idle()) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether none runs, but for one that the executor seems to have dropped. */
    boolean isHeard(int partition) {
        for (var job : running) {
            if (job.partition == partition && !job.serial.isHeard()) {
                return false;
            }
        }
        return true;
    }

    /** Finds steps that have ended without our being told; called now and then. */
    void look() {
        List.copyOf(running).forEach(job -> job.serial.look());
    }

    /** Returns whether the calling thread runs a step. For any thread. */
    boolean runsHere() {
        return here.get();
    }

    private void queue(Job job) {
        job.dueNanos = loop.clock().nanos();
        due.add(job);
    }

    private void next() {
        while (running.size() < parallelism) {
            var job = due.poll();
            if (job == null) {
                return;
            }
            if (!job.stopped) {
                job.runStep();
            }
        }
    }

    /** What is to be done for one role under one mandate. */
    private final class Job {
        private final int role;
        private final int partition;
        private final LocalMandate mandate;
        private final SerialExecutor serial = new SerialExecutor(executor, loop, () -> {});
        private Loop.@Nullable Timer timer;
        private long dueNanos; // since then it waits for its turn
        private boolean stopped;
        /** Of a role that has gone and come back: what goes on when this one's step has ended. */
        private @Nullable Job successor;

        private Job(int role, int partition, LocalMandate mandate) {
            this.role = role;
            this.partition = partition;
            this.mandate = mandate;
        }

        private void stop() {
            stopped = true;
            if (timer != null) {
                timer.cancel();
                timer = null;
            }
        }

        private void runStep() {
            var begun = loop.clock().nanos();
            var waitedNanos = begun - dueNanos;
            running.add(this);
            serial.submit(
                    () -> {
                        if (mandate.isValid()) {
                            here.set(true);
                            try {
                                task.run(role, mandate);
                            } finally {
                                here.remove();
                            }
                        }
                        return null;
                    },
                    (failure, queuedNanos) -> stepEnded(begun, failure, waitedNanos + queuedNanos));
        }

        private void stepEnded(long begun, @Nullable Throwable failure, long queuedNanos) {
            running.remove(this);
            metrics.callbackDelayed(mandate.election(), mandate.candidate(), Duration.ofNanos(queuedNanos));
            if (failure != null) {
                failed(failure);
            }
            if (!stopped) {
                var now = loop.clock().nanos();
                timer = loop.at(TaskEnd.nextNanos(begun, interval, now, retry, failure), () -> {
                    timer = null;
                    queue(this);
                    next();
                });
            }
            if (successor != null) {
                queue(successor);
                successor = null;
            }
            ended.accept(partition);
            next();
        }

        private void failed(Throwable failure) {
            if (stopped || !mandate.isValid()) { // its deadline may not have been told yet
                var task = "the task of role " + role + " of \"" + name + '"';
                TaskEnd.failedLate(log, task, mandate.election(), mandate.candidate(), metrics, failure);
            } else if (!(failure instanceof NotLeaderException)) {
                metrics.callbackFailed(mandate.election(), mandate.candidate(), failure);
                Quietly.run(() -> log.error("the task of role {} of \"{}\" failed", role, name, failure));
            }
        }
    }
}
