package dev.bellwether.testkit.faults;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * The terms of one process, in memory that it shares with others through a file: what it saw a moment before SIGKILL is
 * told, too.
 *
 * <p>One thread of one process writes; any may read. A term is four words: token, first, last, and whether it is over.
 */
public final class TermFile {
    private static final int SLOTS = 4096;
    private static final int WORDS = 4;
    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final ByteBuffer memory;
    private long count;

    private TermFile(ByteBuffer memory) {
        this.memory = memory;
    }

    /** Opens it, or makes it. */
    public static TermFile open(Path file) throws IOException {
        try (var channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
            return new TermFile(channel.map(FileChannel.MapMode.READ_WRITE, 0, 8L * (1 + SLOTS * WORDS)));
        }
    }

    /** It leads, and did not before. */
    public void begin(long token, long firstNanos) {
        var slot = slot(count);
        set(slot, token);
        set(slot + 1, firstNanos);
        set(slot + 2, firstNanos);
        set(slot + 3, 0);
        count++;
        set(0, count); // last: anybody who reads the count finds what it counts
    }

    /** It led still at this instant. */
    public void stillLeading(long lastNanos) {
        set(slot(count - 1) + 2, lastNanos);
    }

    /** It leads no more. */
    public void end() {
        set(slot(count - 1) + 3, 1);
    }

    /**
     * Returns the terms from this one on, counted from 0.
     *
     * @throws IllegalStateException if there were so many since that the oldest have been written over
     */
    public List<ObservedTerm> since(long index, String candidate, int process) {
        var terms = new ArrayList<ObservedTerm>();
        var all = get(0);
        if (all - index > SLOTS) {
            throw new IllegalStateException((all - index) + " terms, and there is room for " + SLOTS);
        }
        for (var i = index; i < all; i++) {
            var slot = slot(i);
            var over = get(slot + 3) == 1; // before the last: what is over does not change any more
            terms.add(new ObservedTerm(candidate, process, get(slot), get(slot + 1), get(slot + 2), over));
        }
        return terms;
    }

    private static int slot(long index) {
        return 1 + (int) (index % SLOTS) * WORDS;
    }

    private void set(int word, long value) {
        WORD.setRelease(memory, word * 8, value);
    }

    private long get(int word) {
        return (long) WORD.getAcquire(memory, word * 8);
    }
}
