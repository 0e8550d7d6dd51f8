package dev.bellwether.testkit.sim;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.Watch;
import dev.bellwether.memory.MemoryGroups;
import dev.bellwether.memory.MemoryRosters;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.RosterStanding;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** One process of a {@link RosterWorld}: the real elections with a real roster, on simulated threads and clocks. */
final class RosterMember {
    private final RosterWorld world;
    private final String name;
    private final SimClock clock;
    private final RosterLoop app;
    private final RosterLoop client;
    private final RosterWire wire;
    private final Roster roster;
    private final Set<Integer> told = new HashSet<>();
    /** When the last step of each role began. */
    private final Map<Integer, Long> begun = new HashMap<>();

    private final boolean foreign;
    private boolean alive = true;
    private boolean working;
    private boolean resigned;
    private boolean thrown;

    RosterMember(RosterWorld world, String name, SimClock clock, MemoryGroups groups, RosterConfig.Builder config) {
        this.world = world;
        this.name = name;
        this.clock = clock;
        app = new RosterLoop(world, clock, true);
        client = new RosterLoop(world, clock, false);
        wire = new RosterWire(world, groups);
        var rosters = new MemoryRosters(groups, wire);
        var elections = Elections.over(
                new Carrier(rosters),
                ElectionsConfig.builder()
                        .loop(app)
                        .executor(piece -> world.agenda().in(world.workNanos(), () -> work(piece)))
                        .build());
        var settings = config.member(name).listener(this::hear).build();
        foreign = settings.mode() != world.mode();
        roster = elections.roster(RosterWorld.ROSTER, settings);
        world.agenda().in(world.untilTask(), this::work);
    }

    /** Has a task from now on, if it has none yet. */
    void work() {
        if (alive && !working) {
            working = true;
            roster.whileLeading((role, mandate) -> {
                world.require(mandate.isValid() || world.slow(), "a task begins only under a valid mandate", name);
                begun.put(role, world.agenda().now());
            });
        }
    }

    /** What the executor was given begins: not while the process stands still. */
    private void work(Runnable piece) {
        if (alive) {
            client.execute(piece);
        }
    }

    private void hear(RosterEvent event) {
        if (world.trace().isOn()) {
            world.trace().line(name, "hears " + event);
        }
        if (event instanceof RosterEvent.Gained gained) {
            gained.roles()
                    .forEach(role ->
                            world.require(told.add(role), "events are paired", name + ": gained " + role + " twice"));
        } else if (event instanceof RosterEvent.Revoked revoked) {
            revoked.roles()
                    .forEach(role -> world.require(
                            told.remove(role), "events are paired", name + ": revoked " + role + ", not gained"));
        } else if (event instanceof RosterEvent.Fenced fenced) {
            world.require(!world.gentle(), "nobody is fenced where all move in order", name + ": " + event);
            fenced.roles().forEach(told::remove); // may follow a revocation that overran its budget
        } else if (event instanceof RosterEvent.Failed failed && !foreign && !thrown) {
            world.violate("no member fails", failed.toString(), failed.error());
        }
    }

    String name() {
        return name;
    }

    SimClock clock() {
        return clock;
    }

    Roster roster() {
        return roster;
    }

    /** Returns whether a step of this role has begun since. */
    boolean hasWorkedSince(int role, long nanos) {
        return begun.getOrDefault(role, Long.MIN_VALUE) >= nanos;
    }

    RosterWire wire() {
        return wire;
    }

    boolean alive() {
        return alive;
    }

    /** Whether it is meant to be a member. */
    boolean stays() {
        return alive && !resigned && !foreign && !thrown;
    }

    /** Whether its settings are not those of its group. */
    boolean foreign() {
        return foreign;
    }

    private void call(String what, Runnable call) {
        if (world.throwsNow()) {
            thrown = true;
            world.trace().line(name, "a call throws: " + what);
            throw new RosterLoop.Thrown(what);
        }
        client.execute(call);
    }

    /** Returns whether it has not given back yet what it was told that it leads of this partition. */
    boolean worksFor(int partition, int partitions) {
        return told.stream().anyMatch(role -> role % partitions == partition);
    }

    boolean toldOfNothing() {
        return told.isEmpty();
    }

    void resign() {
        resigned = true;
        roster.resign();
    }

    void crash() {
        alive = false;
        app.close();
        client.close();
        wire.die();
    }

    /** Nothing of the process runs, or only its client does. */
    void hold(boolean whole) {
        app.hold();
        if (whole) {
            client.hold();
        }
    }

    void resume(boolean whole) {
        app.resume();
        if (whole) {
            client.resume();
        }
    }

    /** Runs memberships on the thread of the client, as carriers with a thread of their own do. */
    private final class Carrier implements Arbiter, RosterCarrier {
        private final MemoryRosters rosters;

        private Carrier(MemoryRosters rosters) {
            this.rosters = rosters;
        }

        @Override
        public Optional<RosterCarrier> rosters() {
            return Optional.of(this);
        }

        @Override
        public boolean readsAreFenced() {
            return rosters.readsAreFenced();
        }

        @Override
        public void check(String election, RosterConfig config) {
            rosters.check(election, config);
        }

        @Override
        public GroupMembership join(RosterStanding standing, GroupObserver observer, Loop loop) {
            // an instance is a random name, which would not be the same each time that a seed is run
            var named = new RosterStanding(standing.roster(), name, name, standing.config());
            var membership = rosters.join(named, observer, client);
            return new GroupMembership() {
                @Override
                public void commit(long number) {
                    if (world.lies()) {
                        call("commit", () -> observer.committed(number, GroupObserver.Commit.ACCEPTED));
                    } else {
                        call("commit", () -> membership.commit(number));
                    }
                }

                @Override
                public void write(int partition, byte[] record) {
                    if (!world.losesClaim(record)) {
                        call("write", () -> membership.write(partition, record));
                    }
                }

                @Override
                public void revoked(int partition) {
                    call("revoked", () -> membership.revoked(partition));
                }

                @Override
                public void highest(long token) {
                    call("highest", () -> membership.highest(token));
                }

                @Override
                public void standAside(Duration time) {
                    call("standAside", () -> membership.standAside(time));
                }

                @Override
                public void leave() {
                    client.execute(membership::leave);
                }

                @Override
                public void close() {
                    client.execute(membership::close);
                }
            };
        }

        @Override
        public String describe() {
            return "a simulated group";
        }

        @Override
        public void check(String election, CandidacyConfig config) {}

        @Override
        public Seat seat(Standing standing, Claimant claimant, Loop loop) {
            throw new UnsupportedOperationException("rosters only");
        }

        @Override
        public CompletionStage<View> read(String election, Loop loop) {
            throw new UnsupportedOperationException("rosters only");
        }

        @Override
        public Watch watch(String election, Consumer<View> watcher, Loop loop) {
            throw new UnsupportedOperationException("rosters only");
        }

        @Override
        public CompletionStage<Boolean> order(String election, Order order) {
            throw new UnsupportedOperationException("rosters only");
        }

        @Override
        public CompletionStage<List<String>> list() {
            return CompletableFuture.completedFuture(List.of());
        }

        @Override
        public void close() {}
    }
}
