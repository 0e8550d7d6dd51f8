package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.View;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One who watches an election: hears what is the case now, and each change after. The brokers may not answer at first:
 * then they are asked again.
 *
 * <p>Thread-safe. Everything is told on the loop, in order.
 */
final class ElectionWatch implements Journal.Reader, Watch {
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<CompletionStage<View>> question;
    private final Consumer<View> watcher;
    private final Loop loop;
    private final Watch joined;
    private volatile boolean closed;
    private boolean told; // confined to the loop

    ElectionWatch(
            Function<Journal.Reader, Watch> journal,
            Supplier<CompletionStage<View>> question,
            Consumer<View> watcher,
            Loop loop) {
        this.question = question;
        this.watcher = watcher;
        this.loop = loop;
        joined = journal.apply(this);
        ask();
    }

    private void ask() {
        question.get()
                .whenComplete((view, error) -> loop.execute(() -> {
                    if (closed || told) {
                        return; // what the journal told is newer
                    }
                    if (view != null) {
                        told = true;
                        watcher.accept(view);
                    } else {
                        loop.at(loop.clock().nanos() + AGAIN_NANOS, this::askAgain);
                    }
                }));
    }

    private void askAgain() {
        if (!closed && !told) {
            ask();
        }
    }

    @Override
    public void read(@Nullable Entry entry, ElectionState known) {
        var view = known.viewAt(loop.clock().nanos());
        loop.execute(() -> {
            told = true;
            if (!closed) {
                watcher.accept(view);
            }
        });
    }

    @Override
    public void failed(ElectionException error) {} // anybody who asks will be told

    @Override
    public void close() {
        closed = true;
        joined.close();
    }
}
