package dev.bellwether.internal.roster;

import dev.bellwether.Mandate;
import dev.bellwether.Metrics;
import dev.bellwether.RoleTask;
import dev.bellwether.Roster;
import dev.bellwether.RosterEvent;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterStanding;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the user of a roster: its listener, in order for each partition, and its task, for roles that the listener has
 * heard of. Confined to the loop, but for {@link #whileLeading} and {@link #runsHere}.
 */
final class RosterCallbacks {
    private static final Logger log = LoggerFactory.getLogger(Roster.class);

    private final RosterStanding standing;
    private final Loop loop;
    private final Executor executor;
    private final Metrics metrics;
    private final RosterSeat[] seats;
    private final IntSupplier roleCount;
    private final ThreadLocal<Boolean> listening = ThreadLocal.withInitial(() -> false);
    private final AtomicReference<@Nullable RoleWork> work = new AtomicReference<>();

    RosterCallbacks(
            RosterStanding standing,
            Loop loop,
            Executor executor,
            Metrics metrics,
            RosterSeat[] seats,
            IntSupplier roleCount) {
        this.standing = standing;
        this.loop = loop;
        this.executor = executor;
        this.metrics = metrics;
        this.seats = seats;
        this.roleCount = roleCount;
    }

    /** Takes the task, if there is none yet, and runs it for what is led already. */
    void whileLeading(RoleTask task) {
        var present = new RoleWork(
                standing.roster(),
                task,
                standing.config(),
                loop,
                executor,
                metrics,
                partition -> seats[partition].stepEnded());
        if (!work.compareAndSet(null, present)) {
            throw new IllegalStateException(
                    standing.member() + " of roster \"" + standing.roster() + "\" already has a task");
        }
        loop.execute(() -> {
            for (var i = 0; i < seats.length; i++) {
                var mandate = seats[i].mandate();
                if (mandate != null) {
                    startAll(i, mandate);
                }
            }
        });
    }

    /** Lets the task run for all that the partition has, once the listener has heard of it. */
    private void startAll(int partition, Mandate mandate) {
        var roles = RoleMap.rolesOf(partition, seats.length, 0, roleCount.getAsInt());
        if (seats[partition].events().idle()) {
            start(partition, roles, mandate);
        } else {
            seats[partition].events().submit(() -> null, (failed, queuedNanos) -> start(partition, roles, mandate));
        }
    }

    /** Returns whether the calling thread runs the listener, or a step of the task. */
    boolean runsHere() {
        var present = work.get();
        return listening.get() || (present != null && present.runsHere());
    }

    /** Tells the listener; then lets the tasks of these roles run, if they are led still. */
    void tell(int partition, RosterEvent event, List<Integer> toStart) {
        var listener = standing.config().listener();
        if (listener.isEmpty()) {
            start(partition, toStart, event);
            return;
        }
        seats[partition]
                .events()
                .submit(
                        () -> {
                            listening.set(true);
                            try {
                                listener.get().onEvent(event);
                            } finally {
                                listening.remove();
                            }
                            return null;
                        },
                        (failed, queuedNanos) -> {
                            if (failed != null) {
                                metrics.callbackFailed(standing.election(partition), standing.member(), failed);
                                Quietly.run(() -> log.error(
                                        "the listener of {} of roster \"{}\" failed on {}; nothing else changes",
                                        standing.member(),
                                        standing.roster(),
                                        event,
                                        failed));
                            }
                            start(partition, toStart, event);
                        });
    }

    private void start(int partition, List<Integer> roles, RosterEvent event) {
        if (event instanceof RosterEvent.Gained gained) {
            start(partition, roles, gained.mandate());
        }
    }

    private void start(int partition, List<Integer> roles, Mandate mandate) {
        var present = work.get();
        var now = seats[partition].mandate();
        if (present != null && now != null && mandate == now) {
            var count = roleCount.getAsInt();
            present.start(partition, roles.stream().filter(role -> role < count).toList(), now);
        }
    }

    /** Returns whether a step of a task runs for this partition. */
    boolean works(int partition) {
        var present = work.get();
        return present != null && present.runs(partition);
    }

    /** Finds steps that have ended without our being told; called now and then. */
    void look() {
        var present = work.get();
        if (present != null) {
            present.look();
        }
    }

    void stop(List<Integer> roles) {
        var present = work.get();
        if (present != null) {
            present.stop(roles);
        }
    }

    void interrupt(int partition) {
        var present = work.get();
        if (present != null) {
            present.interrupt(partition);
        }
    }
}
