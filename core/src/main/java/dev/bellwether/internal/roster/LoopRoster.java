package dev.bellwether.internal.roster;

import dev.bellwether.Cause;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.Metrics;
import dev.bellwether.RoleTask;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.RosterMode;
import dev.bellwether.internal.election.FlightLog;
import dev.bellwether.internal.election.LocalMandate;
import dev.bellwether.internal.election.LossLog;
import dev.bellwether.internal.loop.Ending;
import dev.bellwether.internal.loop.GuardedLoop;
import dev.bellwether.internal.loop.OutageLog;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member of a roster on a loop: a {@link RosterSeat} for each partition, and one {@link RosterDriver} that decides
 * for all of them.
 *
 * <p>The public methods are for any thread. They read what the seats have published, or send a command to the loop.
 * Everything else is confined to the loop.
 */
public final class LoopRoster implements Roster {
    private static final Logger log = LoggerFactory.getLogger(Roster.class);
    private static final int MOST_NAMED = 8;
    /** So many looks, and more, a turn that was broken is tried to be put in order. */
    private static final int MOST_RECOVERIES = 1_000;

    private final RosterStanding standing;
    private final RosterConfig config;
    private final GuardedLoop loop;
    private final Metrics metrics;
    private final Consumer<LoopRoster> onClosed;
    private final LoopGroupObserver observer;
    private final GroupMembership membership;
    private final RosterDriver driver;
    private final RosterSeat[] seats;
    private final RosterCallbacks callbacks;
    private final List<SortedSet<Integer>> told = new ArrayList<>();
    private final FlightLog[] flights;
    private final LossLog[] losses;
    private final Ending ending;
    private final AtomicBoolean closing = new AtomicBoolean();
    private final AtomicReference<@Nullable ElectionException> failure = new AtomicReference<>();
    private volatile int roleCount;
    private int over;
    private boolean leaving; // the group
    private boolean gone; // from the group, all seats having left
    private boolean ended;
    private boolean failureTold;
    private boolean broken; // by what a turn threw
    private int recoveries; // that have failed, one after another

    public LoopRoster(
            RosterStanding standing,
            RosterCarrier carrier,
            Loop shared,
            Executor executor,
            Metrics metrics,
            Duration pauseBound,
            OutageLog outages,
            Consumer<LoopRoster> onClosed) {
        this.standing = standing;
        loop = new GuardedLoop(shared, this::recover);
        this.metrics = metrics;
        this.onClosed = onClosed;
        config = standing.config();
        ending = new Ending(this, log, longestClose(config), this::runsHere, failure::get);
        roleCount = config.roles();
        observer = new LoopGroupObserver(loop, outages, config.candidacy().retryInterval());
        membership = carrier.join(standing, observer, loop);
        try {
            driver = config.mode() == RosterMode.EXCLUSIVE
                    ? new RosterClaims(standing, loop, new Doing(), membership)
                    : new BroadcastRosterDriver(standing, loop, new Doing(), membership, carrier.readsAreFenced());
            seats = new RosterSeat[config.partitions()];
            flights = new FlightLog[seats.length];
            losses = new LossLog[seats.length];
            var owner = new Turns();
            for (var i = 0; i < seats.length; i++) {
                var seat =
                        new Standing(standing.election(i), standing.member(), standing.instance(), config.candidacy());
                told.add(new TreeSet<>());
                flights[i] = new FlightLog();
                losses[i] = new LossLog(log, metrics);
                seats[i] = new RosterSeat(i, seat, loop, executor, driver.seat(i), pauseBound, owner);
            }
            callbacks = new RosterCallbacks(standing, loop, executor, metrics, seats, () -> roleCount);
        } catch (RuntimeException | Error e) { // for lack of memory: nobody would lead what the group gives to it
            membership.close();
            throw e;
        }
    }

    private static Duration longestClose(RosterConfig config) {
        var candidacy = config.candidacy();
        var bound = candidacy.standDownBudget().plus(candidacy.renewInterval().multipliedBy(2));
        return config.mode() == RosterMode.OVERLAPPING ? bound.plus(config.threshold()) : bound;
    }

    public void start() {
        config.advice().forEach(advice -> Quietly.run(() -> log.warn("{}: {}", this, advice)));
        loop.execute(() -> {
            observer.bind(driver);
            for (var seat : seats) {
                seat.start();
            }
            driver.act();
        });
    }

    /**
     * Lets overdue deadlines take effect, in case the clocks jumped, and a broken member leave that could not; called
     * now and then.
     */
    public void check() {
        loop.runNow(() -> {
            callbacks.look();
            for (var seat : seats) {
                seat.check();
            }
            if (broken && !ended) {
                leaveGroupSoon();
            }
        });
    }

    public Duration lease() {
        return config.lease();
    }

    /** No mandate of ours holds any more; whatever else is going on. */
    public void endNow() {
        for (var seat : seats) {
            seat.endNow();
        }
    }

    /** The loop is about to stop. */
    public void abandon() {
        loop.runNow(() -> {
            for (var seat : seats) {
                seat.abandon();
            }
            finish();
        });
        ending.come(); // whatever else is going on
    }

    /** Returns whether the loop must not stop yet: this was abandoned, and work that does not end is to be halted. */
    public boolean isToHalt() {
        return Arrays.stream(seats).anyMatch(RosterSeat::isToHalt);
    }

    /** Returns whether no task runs, and all that was told has been heard, or seems to have been dropped. */
    public boolean isHeard() {
        return Arrays.stream(seats).allMatch(RosterSeat::isHeard);
    }

    // ---------------------------------------------------------------- for any thread

    @Override
    public String name() {
        return standing.roster();
    }

    @Override
    public String member() {
        return standing.member();
    }

    @Override
    public int roleCount() {
        return roleCount;
    }

    @Override
    public boolean leads(int role) {
        if (role < 0 || role >= roleCount) {
            return false;
        }
        var mandate = seats[RoleMap.partitionOf(role, seats.length)].mandate();
        return mandate != null && mandate.isValid();
    }

    @Override
    public List<Integer> roles() {
        var count = roleCount;
        var leads = new boolean[seats.length];
        for (var i = 0; i < seats.length; i++) {
            var mandate = seats[i].mandate();
            leads[i] = mandate != null && mandate.isValid();
        }
        var roles = new ArrayList<Integer>();
        for (var role = 0; role < count; role++) {
            if (leads[RoleMap.partitionOf(role, seats.length)]) {
                roles.add(role);
            }
        }
        return List.copyOf(roles);
    }

    @Override
    public Optional<Mandate> mandate(int role) {
        if (role < 0 || role >= roleCount) {
            return Optional.empty();
        }
        var mandate = seats[RoleMap.partitionOf(role, seats.length)].mandate();
        return mandate != null && mandate.isValid() ? Optional.of(mandate) : Optional.empty();
    }

    @Override
    public int roleOf(String key) {
        return roleOfSlot(slotOf(key));
    }

    @Override
    public int slotOf(String key) {
        return RoleMap.slotOf(key, config.slots());
    }

    @Override
    public int roleOfSlot(int slot) {
        return RoleMap.roleOfSlot(slot, roleCount);
    }

    @Override
    public void resize(int roles) {
        RosterConfig.builder().roles(roles); // refuses what is no number of roles
        loop.execute(() -> resized(roles));
    }

    @Override
    public void whileLeading(RoleTask task) {
        callbacks.whileLeading(task);
    }

    @Override
    public boolean await(int roles, Duration timeout) throws InterruptedException {
        return ending.await(timeout, () -> roles().size() >= roles ? Optional.of(roles) : Optional.empty())
                .isPresent();
    }

    @Override
    public Optional<ElectionException> failure() {
        return Optional.ofNullable(failure.get());
    }

    @Override
    public void awaitClose() throws InterruptedException {
        ending.awaitClose();
    }

    @Override
    public void resign() {
        if (closing.compareAndSet(false, true)) {
            try {
                loop.execute(this::beginToLeave);
            } catch (RuntimeException | Error e) { // no memory for a turn: it can be told again
                closing.set(false);
                throw e;
            }
        }
    }

    private void beginToLeave() {
        var linger = driver.leaving();
        leaving |= !linger.isZero();
        loop.at(loop.clock().nanos() + linger.toNanos(), this::resignAll);
    }

    /** All seats resign; when their work should have ended, others are to have their partitions also if it has not. */
    private void resignAll() {
        for (var seat : seats) {
            seat.resign();
        }
        var budget = config.candidacy().standDownBudget();
        loop.at(loop.clock().nanos() + budget.toNanos(), this::leaveGroupSoon);
    }

    @Override
    public void close() {
        resign();
        ending.awaitClosed();
    }

    /** Returns whether the caller is the listener or the task of this member. */
    public boolean runsHere() {
        return callbacks.runsHere();
    }

    /** Waits for the end as long as {@link #close} may, counted from the given reading of {@link System#nanoTime}. */
    public void awaitClosed(long sinceNanos) {
        ending.awaitClosed(sinceNanos);
    }

    RosterStanding standing() {
        return standing;
    }

    @Override
    public String toString() {
        return "member " + member() + " of roster \"" + name() + "\", group " + config.group();
    }

    // ---------------------------------------------------------------- the turns of the loop

    /** Returns them for a line in the log, however many they are. */
    static String named(List<Integer> roles) {
        var some = roles.stream().limit(MOST_NAMED).map(String::valueOf).collect(Collectors.joining(", "));
        if (roles.size() > MOST_NAMED) {
            return " " + roles.size() + " roles (" + some + ", …)";
        }
        return (roles.size() == 1 ? " role " : " roles ") + some;
    }

    /**
     * Returns of which roles of a partition it was told that they are led, under its last mandate: their number may
     * have changed since that ended, and who was told of one is told of its end, too.
     */
    private List<Integer> toldOf(int partition) {
        return List.copyOf(told.get(partition));
    }

    private void resized(int roles) {
        var before = roleCount;
        roleCount = roles;
        for (var i = 0; i < seats.length; i++) {
            var mandate = seats[i].mandate();
            if (mandate == null) {
                continue;
            }
            var added = RoleMap.rolesOf(i, seats.length, before, roles);
            var removed = RoleMap.rolesOf(i, seats.length, roles, before);
            if (!added.isEmpty()) {
                told.get(i).addAll(added);
                callbacks.tell(i, new RosterEvent.Gained(added, mandate));
            } else if (!removed.isEmpty()) {
                told.get(i).removeAll(removed);
                callbacks.stop(removed);
                callbacks.tell(i, new RosterEvent.Revoked(removed, mandate, Cause.ENDED));
            }
        }
        ending.turned();
    }

    private void finish() {
        if (!ended) {
            ended = true;
            try {
                driver.end();
                if (broken) {
                    leaveGroup(); // if it has not been its turn
                }
            } finally {
                close(membership);
            }
        }
    }

    private void close(GroupMembership ending) {
        try {
            ending.close();
        } finally {
            observer.end();
            if (!isToHalt()) {
                onClosed.accept(this);
            }
            this.ending.come();
        }
    }

    /** Ends when all listeners and tasks have. Of a member that is broken the group may not tell that it has gone. */
    private void finishIfOver() {
        if ((broken || gone) && Arrays.stream(seats).allMatch(RosterSeat::isOver)) {
            finish();
        }
    }

    /** A turn threw: the membership ends, in order. If this throws as well, it is called again. */
    private void recover(Throwable thrown) {
        for (var seat : seats) {
            seat.endNow(); // before anything that takes memory
        }
        if (ended) {
            return;
        }
        broken = true;
        closing.set(true);
        if (recoveries++ < MOST_RECOVERIES) {
            breakOff(thrown);
            recoveries = 0;
        } else { // it cannot be ended in order: at least nobody waits for it forever
            finish();
        }
    }

    /** All seats end as candidacies do, each when its work has; but others need not wait for that. */
    private void breakOff(Throwable thrown) {
        var error = failure.get();
        if (error == null) {
            error = new ElectionException(
                    this + " failed inside (" + thrown
                            + "). It leads nothing, and leaves its group. Join again, and"
                            + " report this if it is no lack of memory",
                    thrown);
            failure.set(error);
        }
        try {
            driver.end();
            for (var seat : seats) {
                seat.broken(error);
            }
            tellFailure(error, "leads nothing any more");
        } finally {
            leaveGroupSoon(); // also if one of them cannot be ended: others are to have its partitions
        }
    }

    /** Leaves the group behind what the seats have released: this is written in a turn of its own. */
    private void leaveGroupSoon() {
        if (!leaving && !ended) {
            try {
                loop.shared().execute(this::leaveGroup);
            } catch (Throwable e) { // no memory for a turn
                leaveGroup();
            }
        }
    }

    private void tellFailure(ElectionException error, String what) {
        if (!failureTold) {
            Quietly.run(() -> log.error("{} has failed, and {}", this, what, error));
            callbacks.tell(0, new RosterEvent.Failed(name(), error));
            ending.turned();
            failureTold = true; // last: it has been told, or this has thrown
        }
    }

    private void leaveGroup() {
        if (leaving) {
            return;
        }
        try {
            membership.leave();
            leaving = true;
        } catch (VirtualMachineError e) {
            throw e; // again, a little later
        } catch (Throwable e) { // it would not be better the next time, and its session runs out
            leaving = true;
            Quietly.run(() -> log.debug("{} cannot leave its group", this, e));
        }
    }

    /** What seats tell. */
    private final class Turns implements RosterSeat.Owner {
        @Override
        public void turned(int partition, LeadershipEvent event) {
            Quietly.run(() -> flights[partition].turned(event, loop.clock().nanos()));
            if (event instanceof LeadershipEvent.Acquired acquired) {
                metrics.termBegan(
                        acquired.election(), member(), acquired.mandate().token());
                told.set(partition, new TreeSet<>(RoleMap.rolesOf(partition, seats.length, 0, roleCount)));
            }
            var roles = toldOf(partition);
            if (roles.isEmpty()) {
                return;
            }
            losses[partition].turned(LoopRoster.this, event);
            if (event instanceof LeadershipEvent.Acquired acquired) {
                Quietly.run(() -> log.info(
                        "{} leads{}, token {}",
                        LoopRoster.this,
                        named(roles),
                        acquired.mandate().token()));
                callbacks.tell(partition, new RosterEvent.Gained(roles, acquired.mandate()));
            } else if (event instanceof LeadershipEvent.Revoked revoked) {
                callbacks.tell(partition, new RosterEvent.Revoked(roles, revoked.mandate(), revoked.cause()));
            } else if (event instanceof LeadershipEvent.Fenced fenced) {
                callbacks.tell(partition, new RosterEvent.Fenced(roles, fenced.mandate(), fenced.cause()));
            }
        }

        @Override
        public boolean works(int partition) {
            return callbacks.works(partition);
        }

        @Override
        public boolean isHeard(int partition) {
            return callbacks.isHeard(partition);
        }

        @Override
        public void stopped(int partition) {
            callbacks.stop(toldOf(partition));
        }

        @Override
        public void interrupt(int partition) {
            callbacks.interrupt(partition);
        }

        @Override
        public void ended(
                int partition, Standing seat, LocalMandate mandate, Cause cause, Duration held, String detail) {
            var roles = toldOf(partition);
            if (!roles.isEmpty()) {
                losses[partition].ended(LoopRoster.this, named(roles), mandate, cause, held, detail);
            }
            metrics.termEnded(seat.election(), member(), cause, held);
        }

        @Override
        public void changed() {
            finishIfOver();
            ending.turned();
        }
    }

    /** What the driver reports. */
    private final class Doing implements RosterDriver.Reports {
        @Override
        public void granted(int partition, long token, Proof proof) {
            seats[partition].granted(token, proof);
        }

        @Override
        public void proven(int partition, long token, Proof proof) {
            seats[partition].proven(token, proof);
        }

        @Override
        public void asked(int partition, long token, Cause cause) {
            seats[partition].asked(token, cause);
        }

        @Override
        public void lost(int partition, long token, Cause cause) {
            seats[partition].lost(token, cause);
        }

        @Override
        public void left(int partition) {
            seats[partition].left();
            over++;
            if (over == seats.length) {
                if (leaving) {
                    gone();
                } else {
                    membership.leave();
                    leaving = true; // last: it has left, or this has thrown
                }
            }
        }

        @Override
        public void failed(ElectionException error) {
            if (failure.compareAndSet(null, error)) {
                tellFailure(error, "gives up its roles");
                closing.set(true);
                resignAll();
            }
        }

        @Override
        public void gone() {
            if (over == seats.length) {
                gone = true;
                finishIfOver();
            }
        }
    }
}
