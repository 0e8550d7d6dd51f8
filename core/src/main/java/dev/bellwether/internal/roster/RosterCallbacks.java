package dev.bellwether.internal.roster;

import dev.bellwether.Metrics;
import dev.bellwether.RoleTask;
import dev.bellwether.Roster;
import dev.bellwether.RosterEvent;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterStanding;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
    /** By roles that are led: what tells so, whether it has been heard or not. */
    private final Map<Integer, Gain> gains = new HashMap<>();

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
                Objects.requireNonNull(task, "task"),
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
                if (seats[i].mandate() != null) {
                    startAll(i);
                }
            }
        });
    }

    /** Lets the task run for all that the partition has, once the listener has heard of it. */
    private void startAll(int partition) {
        var led = new LinkedHashSet<Gain>();
        for (var role : RoleMap.rolesOf(partition, seats.length, 0, roleCount.getAsInt())) {
            var gain = gains.get(role);
            if (gain != null) {
                led.add(gain);
            }
        }
        var events = seats[partition].events();
        if (events.idle()) {
            led.forEach(gain -> start(partition, gain));
        } else {
            events.submit(() -> null, (failed, queuedNanos) -> led.forEach(gain -> start(partition, gain)));
        }
    }

    /** Returns whether the calling thread runs the listener, or a step of the task. */
    boolean runsHere() {
        var present = work.get();
        return listening.get() || (present != null && present.runsHere());
    }

    /** Tells the listener; then lets the tasks of roles that were gained run, if they are led still. */
    void tell(int partition, RosterEvent event) {
        var gain = remember(event);
        var listener = standing.config().listener();
        if (listener.isEmpty()) {
            start(partition, gain);
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
                            var election = standing.election(partition);
                            metrics.callbackDelayed(election, standing.member(), Duration.ofNanos(queuedNanos));
                            if (failed != null) {
                                metrics.callbackFailed(election, standing.member(), failed);
                                Quietly.run(() -> log.error(
                                        "the listener of {} of roster \"{}\" failed on {}; nothing else changes",
                                        standing.member(),
                                        standing.roster(),
                                        event,
                                        failed));
                            }
                            start(partition, gain);
                        });
    }

    private @Nullable Gain remember(RosterEvent event) {
        if (event instanceof RosterEvent.Gained gained) {
            var gain = new Gain(gained);
            gained.roles().forEach(role -> gains.put(role, gain));
            return gain;
        }
        if (event instanceof RosterEvent.Revoked revoked) {
            revoked.roles().forEach(gains::remove);
        } else if (event instanceof RosterEvent.Fenced fenced) {
            fenced.roles().forEach(gains::remove);
        }
        return null;
    }

    /** Starts what has not gone meanwhile: if it has come back, that is told as another gain. */
    private void start(int partition, @Nullable Gain gain) {
        var present = work.get();
        var mandate = seats[partition].mandate();
        if (present != null && gain != null && mandate != null && gain.event.mandate() == mandate) {
            var roles = gain.event.roles().stream().filter(role -> gains.get(role) == gain);
            present.start(partition, roles.toList(), mandate);
        }
    }

    /** Returns whether a step of a task runs for this partition. */
    boolean works(int partition) {
        var present = work.get();
        return present != null && present.runs(partition);
    }

    /** Returns whether none does, but for one that the executor seems to have dropped. */
    boolean isHeard(int partition) {
        var present = work.get();
        return present == null || present.isHeard(partition);
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

    /** One event. Another may be equal: of roles that have gone and come back under one mandate. */
    private static final class Gain {
        private final RosterEvent.Gained event;

        private Gain(RosterEvent.Gained event) {
            this.event = event;
        }
    }
}
