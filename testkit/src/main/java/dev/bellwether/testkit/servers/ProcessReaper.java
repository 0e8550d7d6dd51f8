package dev.bellwether.testkit.servers;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Sees to it that a server does not outlive this JVM, even if that is killed: a shell that waits for the end of a pipe,
 * which the system closes, and then kills the one process.
 */
public final class ProcessReaper {
    private ProcessReaper() {}

    /** Returns the shell; to destroy it is to let the server live. */
    public static Process watch(long pid) {
        try {
            return new ProcessBuilder("sh", "-c", "read never; kill -CONT " + pid + "; kill -9 " + pid)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("no shell to watch over process " + pid, e);
        }
    }

    /** Sends a signal, such as {@code STOP}, and waits until it is sent. */
    public static void signal(String signal, long pid) {
        try {
            new ProcessBuilder("kill", "-" + signal, Long.toString(pid))
                    .redirectErrorStream(true)
                    .start()
                    .waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException("could not send " + signal + " to " + pid, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
