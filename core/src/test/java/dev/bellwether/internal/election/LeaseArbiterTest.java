package dev.bellwether.internal.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What those who watch are told who do not stand. */
class LeaseArbiterTest {
    private final Rig rig = new Rig(Scripted::new);
    private final Scripted store = (Scripted) rig.wire;
    private final List<Optional<Long>> heard = new ArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    private void watch() {
        rig.elections.election("billing").watch(leader -> heard.add(leader.map(Leader::token)));
        rig.settle();
    }

    @Test
    void aVacancyThatWasNotTrueIsTakenBackByTheNextReading() {
        store.views.addAll(List.of(held(7), vacant(7), held(7)));
        watch();
        rig.pass(Duration.ofSeconds(20));
        assertThat(heard).containsExactly(Optional.of(7L), Optional.empty(), Optional.of(7L));
    }

    @Test
    void aReadingFromBeforeAVacancyIsNotBelieved() {
        store.views.add(held(7));
        watch();
        store.keeps = true;
        rig.pass(Duration.ofSeconds(11)); // the next reading is asked for
        store.tell.accept(vacant(7));
        rig.settle();
        store.kept.remove().complete(held(7));
        rig.settle();
        assertThat(heard).containsExactly(Optional.of(7L), Optional.empty());
    }

    /** It is told nothing, and asks nothing: only the log can say why. */
    @Test
    void thatAnElectionMayNotBeReadIsToldOnceInTheLog() {
        try (var log = new LogSaid()) {
            store.views.add(held(7));
            store.refused = new AccessRefusedException("SELECT is denied");
            watch();
            rig.pass(Duration.ofSeconds(20));
            assertThat(heard).isEmpty();
            assertThat(log.said("WARN"))
                    .containsExactly("\"billing\" on rig cannot be read: SELECT is denied. A watch of it may hear of"
                            + " no change until it can be; trying again every 1 s");
            store.refused = null;
            rig.pass(Duration.ofSeconds(20));
            assertThat(heard).containsExactly(Optional.of(7L));
            assertThat(log.said("INFO")).containsExactly("\"billing\" on rig can be read again");
            assertThat(log.said("WARN")).hasSize(1);
        }
    }

    @Test
    void anOutageIsNoReasonToSayThatAnElectionCannotBeRead() {
        try (var log = new LogSaid()) {
            store.views.add(held(7));
            store.refused = new UnavailableException("connection refused");
            watch();
            rig.pass(Duration.ofSeconds(20));
            assertThat(log.said("WARN")).isEmpty();
        }
    }

    /** As a client may that is closed: the loop stays until what was told has been heard, and asks on. */
    @Test
    void whatIsRefusedOnceTheStoreIsClosedIsNotTold() {
        try (var log = new LogSaid()) {
            store.views.add(held(7));
            var arbiter = LazyArbiter.arbiter(store);
            var watch = arbiter.watch("billing", view -> {}, rig.loop);
            rig.settle();
            arbiter.close();
            store.refused = new AccessRefusedException("the client gave the connection up. Check the password");
            rig.pass(Duration.ofSeconds(20));
            assertThat(log.said("WARN")).isEmpty();
            watch.close();
        }
    }

    @Test
    void whatIsRefusedOnceAWatchIsClosedIsNotTold() {
        try (var log = new LogSaid()) {
            store.keeps = true;
            var watch = LazyArbiter.arbiter(store).watch("billing", view -> {}, rig.loop);
            rig.settle();
            watch.close();
            store.kept.remove().completeExceptionally(new AccessRefusedException("SELECT is denied"));
            rig.settle();
            assertThat(log.said("WARN")).isEmpty();
        }
    }

    /** That a change has been heard could not be told: all that came later waited for it, and was kept in memory. */
    @Test
    void aWatcherHearsTheNextChangeThoughTheEndOfTheLastCouldNotBeToldForLackOfMemory() {
        store.views.addAll(List.of(held(7), vacant(7), held(8)));
        rig.elections.election("billing").watch(leader -> {
            heard.add(leader.map(Leader::token));
            if (heard.size() == 1) {
                rig.loop.thrown = new OutOfMemoryError("planted");
            }
        });
        rig.settle();
        rig.pass(Duration.ofSeconds(20));
        assertThat(heard).containsExactly(Optional.of(7L), Optional.empty(), Optional.of(8L));
    }

    /** Its candidacy ended, and no other of the election had a watch while the dead one counted as one who has it. */
    @Test
    void aWatchForWhichThereIsNoThreadIsBegunForTheNextWhoStands() {
        store.views.add(vacant(7));
        store.hasNoThread = true;
        var candidacy = rig.stand("a", rig.config());
        store.hasNoThread = false;
        rig.stand("b", rig.config());
        assertThat(candidacy.isLeader()).as("who stands without a watch leads").isTrue();
        assertThat(store.watched).as("watches that were begun").isEqualTo(1);
    }

    private static View vacant(long token) {
        return View.of("billing", token);
    }

    private static View held(long token) {
        var holder = new View.Holder("b", "b-1", Instant.EPOCH, Map.of());
        return View.of("billing", token).heldBy(Optional.of(holder), Duration.ofSeconds(10));
    }

    /** Readings find these views one after the other, the last one forever; nobody is told of changes. */
    private static final class Scripted extends Rig.Wire {
        private final Deque<View> views = new ArrayDeque<>();
        private final Deque<CompletableFuture<View>> kept = new ArrayDeque<>();
        private boolean keeps;
        private boolean hasNoThread;
        private @Nullable RuntimeException refused;
        private int watched;
        private Consumer<View> tell = view -> {};

        private Scripted(LeaseStore server) {
            super(server);
        }

        @Override
        public CompletionStage<View> read(String election) {
            if (refused != null) {
                return CompletableFuture.failedStage(refused);
            }
            if (keeps) {
                kept.add(new CompletableFuture<>());
                return kept.getLast();
            }
            return CompletableFuture.completedStage(views.size() > 1 ? views.remove() : views.element());
        }

        @Override
        public Watch watch(String election, Consumer<View> watcher) {
            if (hasNoThread) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            tell = watcher;
            watched++;
            return Watch.NONE;
        }
    }
}
