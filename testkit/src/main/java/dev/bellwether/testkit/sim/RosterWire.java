package dev.bellwether.testkit.sim;

import dev.bellwether.memory.MemoryGroups;
import dev.bellwether.memory.MemoryRosters;
import java.util.ArrayDeque;
import java.util.function.Consumer;
import java.util.function.Function;

/** The way between one member and the group: in order each way, late, and sometimes cut, one way or both. */
final class RosterWire implements MemoryRosters.Wire {
    private final RosterWorld world;
    private final MemoryGroups groups;
    private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private long outAt;
    private long backAt;
    private boolean outCut;
    private boolean backCut;
    private boolean fromGroupCut;
    private boolean dead;

    RosterWire(RosterWorld world, MemoryGroups groups) {
        this.world = world;
        this.groups = groups;
    }

    @Override
    public <T> void call(Function<MemoryGroups, T> request, Consumer<T> answer) {
        outAt = Math.max(outAt, world.agenda().now() + world.delay());
        carry(true, outAt, () -> {
            var answered = request.apply(groups);
            backAt = Math.max(backAt, world.agenda().now() + world.delay());
            if (!(fromGroupCut && answered instanceof MemoryGroups.Membership)) {
                carry(false, backAt, () -> answer.accept(answered));
            }
        });
    }

    /**
     * What arrives while the way is cut waits, as in a network that drops packets; some of it is lost with the
     * connection.
     */
    private void carry(boolean out, long at, Runnable message) {
        if (world.random().nextDouble() < world.loss()) {
            return;
        }
        world.agenda().at(at, () -> {
            if (dead) {
                return;
            }
            if (out ? outCut : backCut) {
                if (world.random().nextInt(3) > 0) {
                    waiting.add(message);
                }
            } else {
                message.run();
            }
        });
    }

    /** Nobody is told: members look by themselves. */
    @Override
    public Runnable watch(String topic, Runnable watcher) {
        return () -> {};
    }

    void cut(boolean out, boolean back) {
        outCut |= out;
        backCut |= back;
    }

    /** Nothing is heard of the group, but the log is read and written. */
    void cutFromGroup(boolean cut) {
        fromGroupCut = cut;
    }

    void heal() {
        outCut = false;
        backCut = false;
        while (!waiting.isEmpty()) {
            waiting.remove().run();
        }
    }

    void die() {
        dead = true;
    }
}
