package dev.bellwether.internal.roster;

import dev.bellwether.ElectionException;
import dev.bellwether.internal.loop.OutageLog;
import dev.bellwether.spi.GroupObserver;
import dev.bellwether.spi.Loop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Carries what a group tells to the loop. Thread-safe. */
final class LoopGroupObserver implements GroupObserver {
    private final Loop loop;
    private final OutageLog outages;
    private final Duration retry;
    private final List<Consumer<GroupObserver>> waiting = new ArrayList<>();
    private @Nullable GroupObserver bound; // like what waits, confined to the loop
    private boolean left; // confined to the loop

    LoopGroupObserver(Loop loop, OutageLog outages, Duration retry) {
        this.loop = loop;
        this.outages = outages;
        this.retry = retry;
    }

    /** Tells what came so far, and all that comes; on the loop. */
    void bind(GroupObserver observer) {
        bound = observer;
        waiting.forEach(report -> report.accept(observer));
        waiting.clear();
    }

    private void report(Consumer<GroupObserver> report) {
        loop.execute(() -> {
            if (bound == null) {
                waiting.add(report);
            } else {
                report.accept(bound);
            }
        });
    }

    @Override
    public void assigned(Collection<Integer> partitions) {
        var copy = List.copyOf(partitions);
        report(observer -> observer.assigned(copy));
    }

    @Override
    public void revoking(Collection<Integer> partitions) {
        var copy = List.copyOf(partitions);
        report(observer -> observer.revoking(copy));
    }

    @Override
    public void lost(Collection<Integer> partitions) {
        var copy = List.copyOf(partitions);
        report(observer -> observer.lost(copy));
    }

    @Override
    public void committed(long number, Commit outcome) {
        report(observer -> observer.committed(number, outcome));
    }

    @Override
    public void read(int partition, long offset, long writtenMillis, byte[] record) {
        report(observer -> observer.read(partition, offset, writtenMillis, record));
    }

    @Override
    public void caughtUp() {
        report(GroupObserver::caughtUp);
    }

    @Override
    public void highest(long token) {
        report(observer -> observer.highest(token));
    }

    @Override
    public void beganAgain(long offset) {
        report(observer -> observer.beganAgain(offset));
    }

    @Override
    public void failed(ElectionException error) {
        report(observer -> observer.failed(error));
    }

    @Override
    public void answered() {
        loop.execute(() -> outages.answered(this, loop.clock().nanos()));
    }

    @Override
    public void unanswered(Duration waited, @Nullable Throwable why) {
        loop.execute(() -> {
            if (!left) {
                outages.unanswered(this, waited, retry, why, loop.clock().nanos());
            }
        });
    }

    /** Nothing is asked any more. On the loop. */
    void end() {
        left = true;
        outages.gone(this, loop.clock().nanos());
    }

    @Override
    public void left() {
        report(GroupObserver::left);
    }
}
