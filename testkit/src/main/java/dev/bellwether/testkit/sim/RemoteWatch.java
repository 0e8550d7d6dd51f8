package dev.bellwether.testkit.sim;

import dev.bellwether.Watch;
import java.util.function.Consumer;
import java.util.function.Function;

/** A watch that the store learns of, and forgets, through the network. Confined to the world. */
final class RemoteWatch<T> implements Watch {
    private final World world;
    private final SimProcess process;
    private final Function<Consumer<T>, Watch> watching;
    private final Consumer<T> watcher;
    private Watch there = Watch.NONE;
    private boolean closed;

    /** Makes a watch; the store is asked for it by calling that function. */
    RemoteWatch(World world, SimProcess process, Function<Consumer<T>, Watch> watching, Consumer<T> watcher) {
        this.world = world;
        this.process = process;
        this.watching = watching;
        this.watcher = watcher;
    }

    void send() {
        process.mayThrow("watch");
        world.network().request(process, "watch", this::open);
    }

    private void open() {
        if (closed || process.isDead() || there != Watch.NONE) {
            return;
        }
        there = watching.apply(
                told -> world.network().answer(process, "a notification to " + process.name(), () -> tell(told)));
        world.server().watched(process, there);
    }

    /** Tells the watcher, as long as it watches. */
    void tell(T told) {
        if (!closed) {
            watcher.accept(told);
        }
    }

    @Override
    public void close() {
        closed = true;
        world.server().unwatched(process, there);
    }
}
