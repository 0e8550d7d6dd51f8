package dev.bellwether.spi;

import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;

/** Tells what an interrupt has caused from other failures. Thread-safe: it holds nothing. */
public final class Interrupts {
    private static final int DEEPEST = 32; // causes may form a circle

    private Interrupts() {}

    /** Returns whether this failure, or one that lies behind it, is what an interrupted thread is told. */
    public static boolean caused(Throwable failure) {
        var one = failure;
        for (var depth = 0; one != null && depth < DEEPEST; depth++) {
            if (one instanceof InterruptedException
                    || one instanceof InterruptedIOException
                    || one instanceof ClosedByInterruptException) {
                return true;
            }
            one = one.getCause();
        }
        return false;
    }
}
