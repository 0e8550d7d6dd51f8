package dev.bellwether.kafka;

import dev.bellwether.fixtures.ChildProcess;
import dev.bellwether.testkit.Eventually;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** A {@link Contender} in a process of its own, to be killed, stopped and continued. */
final class ContenderProcess implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Instants between which it led. */
    record Reign(String who, long first, long last) {}

    private final String id;
    private final ChildProcess child;

    ContenderProcess(String bootstrap, String election, String id, Duration lease, String topic) {
        this.id = id;
        child = ChildProcess.start(Contender.class, bootstrap, election, id, Long.toString(lease.toMillis()), topic);
    }

    /** Returns what it has said so far. */
    List<String> said() {
        return child.said();
    }

    void await(String line) {
        eventually(
                "says «" + line + "»",
                () -> child.said().stream().filter(line::equals).findFirst());
    }

    /** Waits until it has said a line that begins like this. */
    void awaitBeginning(String line) {
        eventually(
                "says «" + line + "…»",
                () -> child.said().stream()
                        .filter(said -> said.startsWith(line))
                        .findFirst());
    }

    /** Waits until it leads for the n-th time, and returns the token. */
    long awaitLeads(int times) {
        return eventually("leads " + times + " times", () -> {
            var leads = child.said().stream()
                    .filter(line -> line.startsWith("leads "))
                    .toList();
            return leads.size() < times
                    ? Optional.empty()
                    : Optional.of(Long.parseLong(leads.get(times - 1).split(" ", -1)[1]));
        });
    }

    /** Waits until it leads, after it has led so many times and no longer did. */
    void awaitLeadsAfter(int reigns) {
        eventually(
                "leads after " + reigns + " reigns",
                () -> Optional.of(reigns().size()).filter(ended -> ended >= reigns && isLeading()));
    }

    private <T> T eventually(String what, Supplier<Optional<T>> value) {
        try {
            return Eventually.eventually(id + ' ' + what, PATIENCE, value);
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "; it said " + child, e);
        }
    }

    /** Returns whether it has said that it leads, and not yet until when. */
    boolean isLeading() {
        return timesLed() > reigns().size();
    }

    /** Returns how often it has begun to lead. */
    int timesLed() {
        return (int)
                child.said().stream().filter(line -> line.startsWith("leads ")).count();
    }

    /** Returns when it began to lead for the n-th time. */
    long ledSinceNanos(int times) {
        awaitLeads(times);
        return Long.parseLong(child.said().stream()
                .filter(line -> line.startsWith("leads "))
                .toList()
                .get(times - 1)
                .split(" ", -1)[2]);
    }

    List<Reign> reigns() {
        return child.said().stream()
                .filter(line -> line.startsWith("led "))
                .map(line -> line.split(" ", -1))
                .map(words -> new Reign(id, Long.parseLong(words[1]), Long.parseLong(words[2])))
                .toList();
    }

    void command(String line) {
        child.tell(line);
    }

    void kill() {
        child.kill();
    }

    void pause() {
        child.freeze();
    }

    void resume() {
        child.thaw();
    }

    @Override
    public void close() {
        child.kill();
    }
}
