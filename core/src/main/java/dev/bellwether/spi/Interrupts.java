package dev.bellwether.spi;

import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;

/** Tells what an interrupt has caused from other failures. Thread-safe: it holds nothing. */
public final class Interrupts {
    private Interrupts() {}

    /** Returns whether this failure, or one that lies behind it, is what an interrupted thread is told. */
    public static boolean caused(Throwable failure) {
        return Causes.of(failure).stream()
                .anyMatch(one -> one instanceof InterruptedException
                        || one instanceof InterruptedIOException
                        || one instanceof ClosedByInterruptException);
    }
}
