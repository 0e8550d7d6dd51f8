package dev.bellwether.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.Fields;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** What a watcher hears, and when, of a journal and of its first question. */
class ElectionWatchTest implements Loop {
    private static final String ELECTION = "billing";
    private static final Duration LEASE = Duration.ofSeconds(6);

    private final HandClock clock = new HandClock();
    private final Deque<Runnable> turns = new ArrayDeque<>();
    private final List<Runnable> alarms = new ArrayList<>();
    private final JournalRules rules = new JournalRules(ELECTION, clock.nanos());
    private final Deque<CompletableFuture<View>> asked = new ArrayDeque<>();
    private final List<String> heard = new ArrayList<>();
    private final ElectionWatch watch = new ElectionWatch(
            reader -> () -> heard.add("closed"),
            () -> {
                asked.add(new CompletableFuture<>());
                return asked.getLast();
            },
            view -> heard.add(view.holder().map(View.Holder::candidate).orElse("nobody")),
            this);
    private long offset;

    private void read(Entry.What what) {
        var entry = new Entry(
                what,
                ELECTION,
                Fields.with("candidate", "a")
                        .and("instance", "a-1")
                        .and("nonce", "a-1-1")
                        .and("lease", LEASE.toNanos())
                        .and("token", what == Entry.What.CLAIM ? 0 : 1)
                        .build());
        rules.read(entry, offset++, Instant.EPOCH, clock.nanos());
        watch.read(entry, rules.known());
    }

    private View now() {
        return rules.known().viewAt(clock.nanos());
    }

    private void run() {
        while (!turns.isEmpty()) {
            turns.removeFirst().run();
        }
    }

    private void aSecondPasses() {
        var due = List.copyOf(alarms);
        alarms.clear();
        due.forEach(Runnable::run);
        run();
    }

    @Test
    void theFirstQuestionIsAskedAgainUntilItIsAnswered() {
        run();
        asked.removeFirst().completeExceptionally(new UnavailableException("planted", null));
        run();
        assertThat(asked).as("not at once").isEmpty();
        aSecondPasses();
        asked.removeFirst().completeExceptionally(new UnavailableException("planted", null));
        run();
        aSecondPasses();
        asked.removeFirst().complete(now());
        run();
        assertThat(heard).containsExactly("nobody");
        aSecondPasses();
        assertThat(asked).isEmpty();
    }

    @Test
    void butNotForOneWhoHasClosed() {
        run();
        watch.close();
        asked.removeFirst().completeExceptionally(new UnavailableException("planted", null));
        run();
        aSecondPasses();
        assertThat(asked).isEmpty();
        assertThat(heard).containsExactly("closed");
    }

    @Test
    void theAnswerIsNotToldBehindWhatIsNewer() {
        run();
        read(Entry.What.CLAIM);
        var older = now();
        read(Entry.What.RELEASE);
        asked.removeFirst().complete(older);
        run();
        assertThat(heard).containsExactly("a", "nobody");
    }

    // ---------------------------------------------------------------- loop

    @Override
    public Clock clock() {
        return clock;
    }

    @Override
    public RandomGenerator random() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void execute(Runnable turn) {
        turns.add(turn);
    }

    @Override
    public Timer at(long nanos, Runnable turn) {
        alarms.add(turn);
        return () -> alarms.remove(turn);
    }

    @Override
    public void close() {}
}
