package dev.bellwether.kafka;

import dev.bellwether.spi.Causes;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;

/**
 * Which failures were told since all last went well: those of one kind once, however often it is tried. Of one kind are
 * those whose causes have the same classes, since their texts may have times and numbers in them. Confined to its
 * owner.
 */
final class ToldFailures {
    private final Set<List<Class<?>>> kinds = new HashSet<>();

    /** Returns whether none of its kind was told; from now on one was. */
    boolean isNew(Throwable failure) {
        return kinds.add(
                Causes.of(failure).stream().<Class<?>>map(Throwable::getClass).toList());
    }

    /** Logs a failure: as a warning if none of its kind was told, else at DEBUG. */
    void warn(Logger log, String what, Throwable failure) {
        if (isNew(failure)) {
            log.warn(what, failure);
        } else {
            log.debug(what, failure);
        }
    }

    /** All goes well again: returns whether a failure was told. */
    boolean passed() {
        var any = !kinds.isEmpty();
        kinds.clear();
        return any;
    }
}
