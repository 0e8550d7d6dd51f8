package dev.bellwether.internal.joint;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.Phase;
import dev.bellwether.Watch;
import dev.bellwether.internal.election.LazyArbiter;
import dev.bellwether.internal.election.Rig;
import dev.bellwether.memory.MemoryLeaseStore;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Processes that move from one infrastructure to another in three deployments, in a time of their own, while either
 * fails, messages are late and instances die or stand still; and what must never be, looked for after each turn.
 */
final class MovingWorld {
    static final Duration LEASE = Duration.ofSeconds(3);
    private static final int PROCESSES = 3;
    private static final Duration STEP = Duration.ofMillis(20);

    /** By what an instance elects. */
    enum Kind {
        OLD,
        JOINT,
        NEXT
    }

    /** Ends the run: what must never be has been. */
    static final class Never extends RuntimeException {
        private static final long serialVersionUID = 1;

        private Never(String message) {
            super("NEVER: " + message);
        }
    }

    private final Rig rig = new Rig();
    private final Random random;
    private final JointRules rules;
    private final boolean rollsBack;
    private final boolean waits;
    /** Whether the two halves of joint elections have loops of their own, and loops are held up at times. */
    private final boolean isApart;

    private final Infrastructure old = new Infrastructure();
    private final Infrastructure next = new Infrastructure();
    private final List<Instance> instances = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    final Map<Kind, Integer> mandates = new EnumMap<>(Kind.class);
    private long highestToken;
    private @Nullable String violation;
    private @Nullable Mandate lastMandate;
    private int names;

    /**
     * Makes one.
     *
     * @param rollsBack whether instances are restarted with the former setting at times
     * @param waits whether the operator waits for a leader by both seats before the last deployment
     */
    MovingWorld(long seed, JointRules rules, boolean rollsBack, boolean waits) {
        random = new Random(seed);
        this.rules = rules;
        this.rollsBack = rollsBack;
        this.waits = waits;
        isApart = random.nextInt(3) == 0;
    }

    /** Walks the three deployments. */
    void run() {
        for (var i = 0; i < PROCESSES; i++) {
            instances.add(new Instance(Kind.OLD));
        }
        pass(LEASE.multipliedBy(2));
        deploy(Kind.JOINT, Kind.OLD);
        waitForALeaderByBoth();
        deploy(Kind.NEXT, Kind.JOINT);
        if (rollsBack) { // all the way
            deploy(Kind.JOINT, Kind.NEXT);
            waitForALeaderByBoth();
            deploy(Kind.OLD, Kind.JOINT);
        }
        heal();
        pass(LEASE.multipliedBy(6));
        if (instances.stream().noneMatch(instance -> instance.candidacy.isLeader())) {
            throw new Never("nobody leads, though all is well\n" + String.join("\n", history));
        }
    }

    /** Before anybody elects by the one seat alone, when nobody does by the other any more. */
    private void waitForALeaderByBoth() {
        if (waits) {
            heal();
            pass(LEASE.multipliedBy(6));
        }
    }

    /** Restarts one process after the other, in any order, while this and that happens. */
    private void deploy(Kind kind, Kind former) {
        note("deploying " + kind);
        while (instances.stream().anyMatch(instance -> instance.kind != kind)) {
            var instance = instances.get(random.nextInt(PROCESSES));
            if (instance.kind != kind) {
                restart(instance, kind);
            } else if (rollsBack && random.nextInt(3) == 0) {
                restart(instance, former);
            }
            for (var actions = random.nextInt(4); actions > 0; actions--) {
                mischief();
                pass(Duration.ofMillis(random.nextInt((int) LEASE.toMillis() * 3 / 2)));
            }
        }
        for (var actions = random.nextInt(4); actions > 0; actions--) {
            mischief();
            pass(Duration.ofMillis(random.nextInt((int) LEASE.toMillis() * 2)));
        }
    }

    private void restart(Instance instance, Kind kind) {
        if (random.nextInt(3) == 0) {
            note(instance + " is killed");
        } else {
            note(instance + " leaves");
            instance.thaw();
            instance.candidacy.resign();
            for (var waits = 0; waits < 150 && instance.candidacy.status().phase() != Phase.CLOSED; waits++) {
                pass(STEP);
            }
        }
        instance.dead = true;
        instances.set(instances.indexOf(instance), new Instance(kind));
    }

    private void mischief() {
        var instance = instances.get(random.nextInt(PROCESSES));
        if (isApart && instance.kind == Kind.JOINT && random.nextInt(2) == 0) {
            waver(instance);
            return;
        }
        switch (random.nextInt(13)) {
            case 0 -> set(old, !old.down, "the old infrastructure");
            case 1 -> set(next, !next.down, "the next infrastructure");
            case 2 -> instance.cutOld = !instance.cutOld;
            case 3 -> instance.cutNext = !instance.cutNext;
            case 4 -> instance.freeze();
            case 5 -> instance.thaw();
            case 6 -> instance.candidacy.standDown();
            case 7 -> instance.candidacy.standAside();
            case 8 -> instance.candidacy.standAgain();
            case 9 -> old.store.order("billing", Order.STAND_DOWN);
            case 10 -> next.store.order("billing", Order.STAND_DOWN);
            case 11 -> {
                next.isFull = !next.isFull;
                note("the next infrastructure " + (next.isFull ? "takes no claims" : "takes claims"));
            }
            default -> heal();
        }
    }

    /** Gives the seat back and claims it again, again and again, alone, while its turns come late. */
    private void waver(Instance instance) {
        note(instance + " wavers");
        var others = instances.stream().filter(other -> other != instance).toList();
        others.forEach(other -> other.candidacy.standAside());
        pass(Duration.ofMillis(random.nextInt(200)));
        instance.isBusy = true;
        for (var times = 1 + random.nextInt(4); times > 0; times--) {
            instance.candidacy.standAside();
            pass(random.nextBoolean() ? Duration.ZERO : STEP);
            instance.candidacy.standAgain();
            pass(Duration.ofMillis(random.nextInt(60)));
        }
        instance.isBusy = false;
        others.forEach(other -> other.candidacy.standAgain());
    }

    private void set(Infrastructure infrastructure, boolean down, String name) {
        infrastructure.down = down;
        note(name + (down ? " is down" : " is up"));
    }

    private void heal() {
        set(old, false, "the old infrastructure");
        set(next, false, "the next infrastructure");
        next.isFull = false;
        instances.forEach(instance -> {
            instance.cutOld = false;
            instance.cutNext = false;
            instance.thaw();
            instance.candidacy.standAgain();
        });
    }

    private void pass(Duration time) {
        for (var left = time; left.compareTo(Duration.ZERO) > 0; left = left.minus(STEP)) {
            rig.pass(STEP);
            check();
            instances.forEach(instance -> instance.candidacy
                    .failure()
                    .ifPresent(error -> violated(instance + " has failed: " + error.getMessage())));
            if (violation != null) {
                throw new Never(violation + "\n" + String.join("\n", history));
            }
        }
    }

    /** Remembered until the turn is over, since what a turn throws is caught. */
    private void violated(String what) {
        violation = violation == null ? what : violation;
    }

    private void note(String what) {
        history.add(rig.loop.clock().nanos() / 1_000_000 + " " + what);
    }

    /** One leader at most, under a token above all before. */
    private void check() {
        var leaders = instances.stream()
                .filter(instance -> instance.candidacy.isLeader())
                .toList();
        if (leaders.size() > 1) {
            violated(leaders + " lead at once");
        }
        leaders.forEach(instance -> instance.candidacy.mandate().ifPresent(mandate -> {
            if (mandate != lastMandate) {
                note(instance + " leads by " + mandate.token());
                if (mandate.token() <= highestToken) {
                    violated("token " + mandate.token() + " after " + highestToken);
                }
                lastMandate = mandate;
                highestToken = mandate.token();
                mandates.merge(instance.kind, 1, Integer::sum);
            }
        }));
    }

    /** A store that all instances reach through the network. */
    private final class Infrastructure {
        private final MemoryLeaseStore store = new MemoryLeaseStore(rig.loop.clock());
        private boolean down;
        private boolean isFull; // it answers readings, and no claims
    }

    private final class Instance {
        private final String name = "p" + ++names;
        private final Kind kind;
        private final Candidacy candidacy;
        private final ArrayDeque<Runnable> backlog = new ArrayDeque<>();
        private boolean dead;
        private boolean frozen;
        private boolean wasFrozen;
        private boolean works;
        private boolean cutOld;
        private boolean cutNext;
        private boolean isBusy; // more than others

        private Instance(Kind kind) {
            this.kind = kind;
            var loop = loop();
            var config = on(loop);
            var ofOld = new Network(this, old, () -> cutOld);
            var ofNext = new Network(this, next, () -> cutNext);
            var elections = switch (kind) {
                case OLD -> Elections.over(ofOld, config);
                case NEXT -> Elections.over(ofNext, config);
                case JOINT ->
                    rules == JointRules.TRUE && random.nextBoolean()
                            ? Elections.jointly(
                                    Elections.over(ofOld, isApart ? on(loop()) : config),
                                    Elections.over(ofNext, isApart ? on(loop()) : config),
                                    config)
                            : Elections.over(new JointArbiter(side(ofOld), side(ofNext), rules), config);
            };
            candidacy = elections.stand(
                    "billing",
                    CandidacyConfig.builder()
                            .candidate(name)
                            .lease(LEASE)
                            .listener(this::heard)
                            .build());
        }

        private Loop loop() {
            return isApart ? new BusyLoop(this) : new InstanceLoop(this);
        }

        private ElectionsConfig on(Loop loop) {
            return ElectionsConfig.builder()
                    .loop(loop)
                    .executor(work ->
                            later((long) (LEASE.toNanos() * 0.05 * random.nextDouble()), () -> runUnlessFrozen(work)))
                    .build();
        }

        private JointArbiter.Side side(LeaseStore store) {
            return new JointArbiter.Side(LazyArbiter.arbiter(store), isApart ? loop() : null, store::close);
        }

        private void heard(LeadershipEvent event) {
            if (event instanceof LeadershipEvent.Acquired acquired) {
                if (!acquired.mandate().isValid()) {
                    return; // it stood still meanwhile: what it begins, a guard refuses
                }
                instances.stream()
                        .filter(other -> other != this && other.works && !other.dead && !other.wasFrozen)
                        .findFirst()
                        .ifPresent(other -> violated(this + " works beside " + other));
                works = true;
                wasFrozen = frozen;
            } else if (event instanceof LeadershipEvent.Revoked || event instanceof LeadershipEvent.Fenced) {
                works = false;
            }
        }

        private void freeze() {
            note(this + " stands still");
            frozen = true;
            wasFrozen = true;
        }

        private void thaw() {
            if (frozen) {
                note(this + " goes on");
                frozen = false;
                while (!backlog.isEmpty() && !frozen) {
                    rig.loop.execute(backlog.remove());
                }
            }
        }

        private void runUnlessFrozen(Runnable turn) {
            if (dead) {
                return;
            }
            if (frozen) {
                backlog.add(() -> runUnlessFrozen(turn));
                return;
            }
            turn.run();
            check();
        }

        @Override
        public String toString() {
            return name + " (" + kind + ")";
        }
    }

    private void later(long nanos, Runnable turn) {
        rig.loop.at(rig.loop.clock().nanos() + nanos, turn);
    }

    /** The loop of one instance. */
    private class InstanceLoop implements Loop {
        final Instance instance;

        private InstanceLoop(Instance instance) {
            this.instance = instance;
        }

        @Override
        public Clock clock() {
            return rig.loop.clock();
        }

        @Override
        public RandomGenerator random() {
            return rig.loop.random();
        }

        @Override
        public void execute(Runnable turn) {
            rig.loop.execute(() -> instance.runUnlessFrozen(turn));
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            return rig.loop.at(nanos, () -> instance.runUnlessFrozen(turn));
        }

        @Override
        public void close() {}
    }

    /** A loop whose turns take a while at times, so that the next ones come later. */
    private final class BusyLoop extends InstanceLoop {
        private final ArrayDeque<Runnable> inbox = new ArrayDeque<>();
        private long freeNanos = rig.loop.clock().nanos();

        private BusyLoop(Instance instance) {
            super(instance);
        }

        @Override
        public void execute(Runnable turn) {
            inbox.add(turn);
            whenFree(() -> run(inbox.remove()));
        }

        private void whenFree(Runnable work) {
            rig.loop.execute(() -> instance.runUnlessFrozen(() -> {
                if (freeNanos - clock().nanos() > 0) {
                    rig.loop.at(freeNanos, () -> whenFree(work));
                } else {
                    work.run();
                }
            }));
        }

        private void run(Runnable turn) {
            if (random.nextInt(instance.isBusy ? 2 : 8) == 0) {
                freeNanos = clock().nanos() + 1_000_000L * random.nextInt(80);
            }
            turn.run();
        }

        @Override
        public Timer at(long nanos, Runnable turn) {
            var cancelled = new AtomicBoolean();
            var timer = rig.loop.at(
                    nanos,
                    () -> whenFree(() -> {
                        if (!cancelled.get()) {
                            run(turn);
                        }
                    }));
            return () -> {
                cancelled.set(true);
                timer.cancel();
            };
        }
    }

    /** The way of one instance to one store: late, and cut at times. */
    private final class Network implements LeaseStore {
        private final Instance instance;
        private final Infrastructure infrastructure;
        private final Supplier<Boolean> cut;

        private Network(Instance instance, Infrastructure infrastructure, Supplier<Boolean> cut) {
            this.instance = instance;
            this.infrastructure = infrastructure;
            this.cut = cut;
        }

        private boolean passes() {
            return !infrastructure.down && !cut.get();
        }

        private long delayNanos() {
            return 1_000_000L * (1 + random.nextInt(random.nextInt(10) == 0 ? 400 : 20));
        }

        private <T> CompletionStage<T> carry(Supplier<CompletionStage<T>> request) {
            var answer = new CompletableFuture<T>();
            later(delayNanos(), () -> {
                if (passes()) {
                    var found = request.get().toCompletableFuture().join();
                    later(delayNanos(), () -> {
                        if (passes() && !instance.dead) {
                            answer.complete(found);
                        }
                    });
                }
            });
            return answer;
        }

        @Override
        public String describe() {
            return infrastructure == old ? "old" : "next";
        }

        @Override
        public boolean setsTokens() {
            return true;
        }

        @Override
        public CompletionStage<Answer> acquire(Claim claim) {
            return infrastructure.isFull ? new CompletableFuture<>() : carry(() -> infrastructure.store.acquire(claim));
        }

        @Override
        public List<CompletionStage<Answer>> renew(List<Lease> leases) {
            return leases.stream()
                    .map(lease -> carry(
                            () -> infrastructure.store.renew(List.of(lease)).get(0)))
                    .toList();
        }

        @Override
        public CompletionStage<Answer> release(Claim claim) {
            return carry(() -> infrastructure.store.release(claim));
        }

        @Override
        public CompletionStage<View> read(String election) {
            return carry(() -> infrastructure.store.read(election));
        }

        @Override
        public Watch watch(String election, Consumer<View> watcher) {
            return infrastructure.store.watch(
                    election,
                    view -> later(delayNanos(), () -> {
                        if (passes() && !instance.dead) {
                            watcher.accept(view);
                        }
                    }));
        }

        @Override
        public CompletionStage<Boolean> order(String election, Order order) {
            return carry(() -> infrastructure.store.order(election, order));
        }

        @Override
        public CompletionStage<List<String>> list() {
            return carry(infrastructure.store::list);
        }

        @Override
        public void close() {}
    }
}
