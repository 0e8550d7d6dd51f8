package dev.bellwether.memory;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterState;
import dev.bellwether.spi.GroupMembership;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.RosterStanding;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;

/** Rosters over a {@link MemoryGroups}. Thread-safe. */
public final class MemoryRosters implements RosterCarrier {
    private final MemoryGroups groups;
    private final Wire wire;

    /** How requests and answers travel: at once, or as a simulator will have it. */
    public interface Wire {
        /** Carries a request out, perhaps, and its answer back, perhaps; on any thread. */
        <T> void call(Function<MemoryGroups, T> request, Consumer<T> answer);

        /** Runs this when there may be something new to read. Returns how to stop that. */
        Runnable watch(String topic, Runnable watcher);
    }

    /** Makes rosters over groups in this process. */
    public MemoryRosters(MemoryGroups groups) {
        this(groups, new Wire() {
            @Override
            public <T> void call(Function<MemoryGroups, T> request, Consumer<T> answer) {
                answer.accept(request.apply(groups));
            }

            @Override
            public Runnable watch(String topic, Runnable watcher) {
                return groups.watch(topic, watcher);
            }
        });
    }

    /** Makes rosters over groups that are reached by a wire. */
    public MemoryRosters(MemoryGroups groups, Wire wire) {
        this.groups = groups;
        this.wire = wire;
    }

    @Override
    public void check(String roster, RosterConfig config) {
        var present = groups.partitions(roster, config.partitions());
        if (present != config.partitions()) {
            throw new ElectionException("roster \"" + roster + "\" has " + present + " partitions, and was asked for "
                    + config.partitions() + ": the number cannot change; use another roster");
        }
    }

    @Override
    public boolean readsAreFenced() {
        return groups.fenced();
    }

    @Override
    public CompletionStage<Optional<RosterState>> read(String roster) {
        return CompletableFuture.completedFuture(groups.shares(roster)
                .map(shares -> new RosterState(
                        roster,
                        groups.partitions(roster, 0),
                        shares.entrySet().stream()
                                .map(group -> new RosterState.Group(group.getKey(), members(group.getValue())))
                                .toList())));
    }

    private static List<RosterState.Member> members(Map<String, Set<Integer>> members) {
        return members.entrySet().stream()
                .map(member -> new RosterState.Member(
                        MemoryMembership.name(member.getKey()), "", List.copyOf(member.getValue())))
                .toList();
    }

    @Override
    public GroupMembership join(RosterStanding standing, GroupObserver observer, Loop loop) {
        return new MemoryMembership(standing, observer, loop, wire);
    }
}
