package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The journal as a candidate has it: to read in and to write to. Thread-safe. */
interface JournalClient {

    /** Returns what it says of an election, as far as it has been read. */
    ElectionState known(String election);

    /** Returns the offset up to which it has been read. */
    long nextOffset();

    /**
     * Asks the brokers whether the log is still the one that was read: a topic that was deleted and created again has
     * another identity, and may have grown past our place in the old one, so that its records show nothing. If it is
     * another one, all of it is read before the next answer can be true. False also if there is no answer.
     */
    boolean isSameLog(Duration patience);

    /** Writes a record, come what may: anybody who must know whether it was written reads the journal. */
    default void write(Entry entry) {
        write(entry, error -> {});
    }

    /**
     * Writes a record; then, on any thread, tells the error, or null. May block for as long as the client does not know
     * where to send it.
     */
    void write(Entry entry, Consumer<@Nullable Exception> done);

    /** Returns what to tell if this error is here to stay; empty if it may pass. */
    Optional<ElectionException> refusal(Throwable error);
}
