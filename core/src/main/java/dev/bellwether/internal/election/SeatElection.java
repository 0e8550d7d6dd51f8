package dev.bellwether.internal.election;

import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.HandOver;
import dev.bellwether.Leader;
import dev.bellwether.Names;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.internal.loop.Requests;
import dev.bellwether.internal.loop.SerialExecutor;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.HandOverNote;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An election seen through an arbiter. Thread-safe. */
public final class SeatElection implements Election {
    private static final Logger log = LoggerFactory.getLogger(Election.class);

    private static final Duration SLICE = Duration.ofMillis(500);

    private final String name;
    private final Arbiter arbiter;
    private final Loop loop;
    private final Executor executor;
    private final Duration timeout;

    public SeatElection(String name, Arbiter arbiter, Loop loop, Executor executor, Duration timeout) {
        this.name = name;
        this.arbiter = arbiter;
        this.loop = loop;
        this.executor = executor;
        this.timeout = timeout;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public State state() {
        var view = Requests.answer(Requests.ask(() -> arbiter.read(name, loop)), timeout, "read " + this);
        return new State(view.leader(), view.candidates(), view.ended());
    }

    @Override
    public Watch watch(Consumer<Optional<Leader>> watcher) {
        var changes = new Changes(
                Objects.requireNonNull(watcher, "watcher"),
                new SerialExecutor(executor, loop, () -> {}),
                arbiter::watchesInOrder);
        var watch = arbiter.watch(name, view -> loop.execute(() -> changes.see(view)), loop);
        return () -> {
            changes.closed = true;
            watch.close();
        };
    }

    @Override
    public boolean standDown() {
        return order(Order.STAND_DOWN, "order the leader to stand down");
    }

    @Override
    public HandOver handOver(String to, Duration within) {
        return handOver(Optional.of(to), within, Optional.empty());
    }

    @Override
    public HandOver handOver(Duration within) {
        return handOver(Optional.empty(), within, Optional.empty());
    }

    /**
     * Hands the seat over.
     *
     * @param from the only one whose seat it may be; empty for that of any leader
     */
    HandOver handOver(Optional<String> to, Duration within, Optional<String> from) {
        if (within.isNegative() || within.isZero() || within.compareTo(HandOverNote.LONGEST_WITHIN) > 0) {
            throw new ElectionException("the time to get ready is " + Durations.show(within)
                    + ": give it more than nothing, and at most " + Durations.show(HandOverNote.LONGEST_WITHIN));
        }
        to.ifPresent(Names::candidate);
        arbiter.handOverObjection().ifPresent(why -> {
            throw new ElectionException(this + " cannot hand over to a candidate by name: " + why);
        });
        var order = new HandOverOrder(name, arbiter, loop, timeout, to, within, from);
        var what = "hand over (" + this + ")";
        var outcome = order.begin().toCompletableFuture();
        while (!outcome.isDone() && order.isDrivenAt(System.nanoTime())) { // it bounds itself, as long as its loop runs
            Requests.awaitFor(outcome, SLICE, what);
        }
        if (!outcome.isDone()) {
            throw new UnavailableException("could not " + what
                    + ": the elections were closed, or this process stood still. It may still be carried out");
        }
        return Requests.answer(outcome, timeout, what);
    }

    @Override
    public void end() {
        order(Order.END, "end");
    }

    @Override
    public boolean reopen() {
        return order(Order.REOPEN, "reopen");
    }

    @Override
    public void delete() {
        order(Order.DELETE, "delete");
    }

    @Override
    public String toString() {
        return "election \"" + name + "\" on " + arbiter.describe();
    }

    private boolean order(Order order, String verb) {
        return Requests.answer(Requests.ask(() -> arbiter.order(name, order)), timeout, verb + " (" + this + ")");
    }

    /** Lets through what differs from the last. Confined to the loop, but for the flag. */
    private static final class Changes {
        private final Consumer<Optional<Leader>> watcher;
        private final SerialExecutor serial;
        private final BooleanSupplier inOrder;
        private @Nullable View last;
        private volatile boolean closed;

        private Changes(Consumer<Optional<Leader>> watcher, SerialExecutor serial, BooleanSupplier inOrder) {
            this.watcher = watcher;
            this.serial = serial;
            this.inOrder = inOrder;
        }

        private void see(View view) {
            serial.look(); // else all would wait for one whose end could not be told
            var before = last;
            if (closed || (before != null && (isOlder(view, before) || same(before, view)))) {
                return;
            }
            last = view;
            serial.submit(
                    () -> {
                        if (!closed) {
                            watcher.accept(view.leader());
                        }
                        return null;
                    },
                    (failure, queued) -> {
                        if (failure != null) {
                            Quietly.run(() -> log.error(
                                    "a watcher of \"{}\" failed; it gets the next change", view.election(), failure));
                        }
                    });
        }

        private boolean isOlder(View view, View before) {
            return view.token() < before.token() && !inOrder.getAsBoolean();
        }

        private static boolean same(View one, View other) {
            return one.token() == other.token()
                    && one.holder()
                            .map(View.Holder::metadata)
                            .equals(other.holder().map(View.Holder::metadata));
        }
    }
}
