package dev.bellwether.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

/**
 * A stream that is written on a thread of its own, so that nobody who writes is held up by somebody who does not read:
 * a terminal after Ctrl-S, or a pipe that is full.
 *
 * <p>A thread that writes waits until that is written, so that nothing is lost when the process ends; no longer than a
 * moment, and not at all while something older is stuck. Of what is stuck it keeps a bounded part, and says later how
 * much is missing. Thread-safe.
 */
final class QueuedOutput extends OutputStream {
    private static final int MOST_BYTES = 64 * 1024;
    private static final long MOMENT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final OutputStream to;
    private final Deque<byte[]> queue = new ArrayDeque<>(); // guarded by this, as are the next
    private int queuedBytes;
    private long missingBytes;
    private boolean stuck;
    private volatile boolean failed;

    QueuedOutput(OutputStream to, String name) {
        this.to = to;
        var thread = new Thread(this::writeAll, name);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void write(int one) {
        write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) {
        if (!queue.isEmpty() && queuedBytes + length > MOST_BYTES) {
            missingBytes += length;
            return;
        }
        var copy = new byte[length];
        System.arraycopy(bytes, offset, copy, 0, length);
        queue.add(copy);
        queuedBytes += length;
        notifyAll();
        if (!stuck) {
            try {
                stuck = !awaitWritten(MOMENT_NANOS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits for nothing: says whether something could not be written, as where nobody is who could read. */
    @Override
    public void flush() throws IOException {
        if (failed) {
            throw new IOException("what was written is lost, at least in part");
        }
    }

    /** Waits until everything is written, or nothing is read for so long: then nobody will. */
    synchronized void finish(Duration patience) throws InterruptedException {
        var before = 0;
        while (before != queue.size()) {
            before = queue.size();
            awaitWritten(patience.toNanos());
        }
    }

    private synchronized boolean awaitWritten(long withinNanos) throws InterruptedException {
        var deadline = System.nanoTime() + withinNanos;
        for (var left = withinNanos; !queue.isEmpty() && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(left, TimeUnit.MILLISECONDS.toNanos(1)));
        }
        return queue.isEmpty();
    }

    private void writeAll() {
        try {
            while (true) {
                put(first());
                written();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody does
        }
    }

    private synchronized byte[] first() throws InterruptedException {
        while (queue.isEmpty()) {
            wait();
        }
        return queue.getFirst();
    }

    private void put(byte[] bytes) {
        try {
            to.write(bytes);
            to.flush();
        } catch (IOException | RuntimeException | Error e) { // the last if there is no memory
            failed = true; // who flushes is told
        }
    }

    private synchronized void written() {
        queuedBytes -= queue.removeFirst().length;
        if (queue.isEmpty() && missingBytes > 0) {
            var note = "bellwether: " + missingBytes + " bytes of messages are missing here: nobody read them\n";
            missingBytes = 0;
            queue.add(note.getBytes(StandardCharsets.US_ASCII));
            queuedBytes += queue.getFirst().length;
        }
        if (queue.isEmpty()) {
            stuck = false;
        }
        notifyAll();
    }
}
