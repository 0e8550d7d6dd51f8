package dev.bellwether.nats;

import dev.bellwether.AccessRefusedException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;

/**
 * What the server says that we may not do. It does not answer such a request: it says so on the connection, naming the
 * subject, and anybody who waits for an answer there is told by us. Thread-safe.
 *
 * <p>Of a connection of the user's we do not hear this, and find out by waiting.
 */
final class PermissionErrors {
    private static final Pattern VIOLATION = Pattern.compile(
            "permissions violation for (publish|subscription) to \"([^\"]*)\"", Pattern.CASE_INSENSITIVE);

    /** Where the server is told that it may go on sending what is watched. */
    private static final String FLOW = "$JS.FC.";

    private static final int MANY = 1_000;

    /** When the server said last that we may not publish to a subject. It may be granted since. */
    private final Map<String, Long> denied = new ConcurrentHashMap<>();

    private final Set<Asked> waiting = ConcurrentHashMap.newKeySet();
    private final List<Runnable> stalled = new CopyOnWriteArrayList<>();
    private volatile Optional<String> deaf = Optional.empty();

    /** Has this run each time that we may not have the server go on sending what is watched. */
    void onStalled(Runnable watch) {
        stalled.add(watch);
    }

    /** Takes note of what the server said, if it is of rights; returns whether it was. */
    boolean heard(String said) {
        var found = VIOLATION.matcher(said);
        if (!found.find()) {
            return false;
        }
        var subject = found.group(2);
        if (subject.startsWith(FLOW)) {
            stalled.forEach(Runnable::run);
        } else if (found.group(1).equalsIgnoreCase("publish")) {
            if (denied.size() >= MANY) {
                denied.clear(); // what is still refused is heard again at the next try
            }
            denied.put(subject, System.nanoTime());
            waiting.stream()
                    .filter(asked -> asked.subject.equals(subject))
                    .forEach(asked -> asked.fail(toPublish(subject)));
        } else {
            var missing = "may not subscribe to " + subject
                    + ", where answers come: grant that, or name an inbox that is granted (inbox)";
            deaf = Optional.of(missing);
            waiting.forEach(asked -> asked.fail(missing));
        }
        return true;
    }

    /** Has this answer fail as soon as we hear that the question, which was sent after that instant, is not allowed. */
    <T> CompletableFuture<T> watched(String subject, long sentNanos, CompletableFuture<T> reply) {
        var asked = new Asked(subject, reply);
        waiting.add(asked);
        var heard = denied.get(subject);
        if (heard != null && heard - sentNanos >= 0) {
            asked.fail(toPublish(subject)); // heard already
        }
        deaf.ifPresent(asked::fail);
        return reply.whenComplete((answer, error) -> waiting.remove(asked));
    }

    /** A request that has no answer yet. */
    private static final class Asked {
        private final String subject;
        private final CompletableFuture<?> reply;

        private Asked(String subject, CompletableFuture<?> reply) {
            this.subject = subject;
            this.reply = reply;
        }

        private void fail(String missing) {
            reply.completeExceptionally(new AccessRefusedException(missing));
        }
    }

    /** Returns what right was found missing for subjects that begin like this. */
    Optional<String> missing(String beginning) {
        return deaf.or(() -> denied.keySet().stream()
                .filter(subject -> subject.startsWith(beginning))
                .findAny()
                .map(PermissionErrors::toPublish));
    }

    /** Forgets what was found missing for subjects that begin like this: it may have been granted since. */
    void forget(String beginning) {
        denied.keySet().removeIf(subject -> subject.startsWith(beginning));
    }

    /** Returns whether we may not hear answers, as far as we know. */
    boolean isDeaf() {
        return deaf.isPresent();
    }

    /** A new connection may have other rights. */
    void forget() {
        denied.clear();
        deaf = Optional.empty();
    }

    private static String toPublish(String subject) {
        return "may not publish to " + subject + ": grant that right";
    }
}
