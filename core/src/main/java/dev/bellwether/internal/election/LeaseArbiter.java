package dev.bellwether.internal.election;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.internal.loop.Quietly;
import dev.bellwether.internal.loop.Requests;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes an arbiter of a {@link LeaseStore}: a {@link LeaseSeat} per candidacy, one batch of renewals per turn, and one
 * watch per election.
 *
 * <p>Confined to the loop, except {@link #read}, {@link #watch}, {@link #order} and {@link #list}, which any thread may
 * call.
 */
final class LeaseArbiter implements Arbiter {
    private static final Logger log = LoggerFactory.getLogger(LeaseArbiter.class);

    /** How often an observer looks at a vacant seat if the store cannot tell, and as a safety net if it can. */
    private static final long LOOK_NANOS = 1_000_000_000L;

    private static final long SAFETY_NANOS = 30_000_000_000L;

    private final LeaseStore store;
    private List<Due> due = new ArrayList<>();
    private boolean flushing; // a turn is under way that sends what is due
    private final Map<String, Watched> watched = new HashMap<>();
    /** For close(), on any thread; in the order of their beginning, so that a simulation can be repeated. */
    private final Set<Watch> open = Collections.synchronizedSet(new LinkedHashSet<>());

    private volatile boolean over; // close() has begun

    LeaseArbiter(LeaseStore store) {
        this.store = store;
    }

    @Override
    public String describe() {
        return store.describe();
    }

    @Override
    public CandidacyConfig completed(CandidacyConfig config) {
        return store.completed(config);
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        store.check(election, config);
    }

    @Override
    public boolean setsTokens() {
        return store.setsTokens();
    }

    @Override
    public Seat seat(Standing standing, Claimant claimant, Loop loop) {
        return new LeaseSeat(standing, store, new RenewalBatcher(loop), claimant, loop);
    }

    @Override
    public CompletionStage<View> read(String election, Loop loop) {
        return store.read(election);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher, Loop loop) {
        var observer = new Observer(election, watcher, loop);
        loop.execute(observer::begin);
        return observer;
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return store.order(election, order);
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        return store.note(election, token, expected, note);
    }

    @Override
    public Optional<String> handOverObjection() {
        return store.handOverObjection();
    }

    @Override
    public Optional<String> proclaimObjection() {
        return store.proclaimObjection();
    }

    @Override
    public boolean listsCandidates() {
        return store.listsCandidates();
    }

    @Override
    public CompletionStage<List<String>> list() {
        return store.list();
    }

    @Override
    public void close() {
        over = true;
        for (var watch : open.toArray(Watch[]::new)) {
            try {
                watch.close();
            } catch (RuntimeException | Error e) { // it keeps open neither the others nor the store
                Quietly.run(() -> log.warn("a watch on {} could not be ended in order", describe(), e));
            }
        }
        store.close();
    }

    private void flush() {
        flushing = false; // first: whatever is thrown here, the next renewal is sent
        var batch = due;
        due = new ArrayList<>();
        List<CompletionStage<Answer>> answers;
        try {
            answers = store.renew(batch.stream().map(Due::lease).toList());
        } catch (RuntimeException | Error e) { // no answer, for any of them
            answers = Collections.nCopies(batch.size(), CompletableFuture.failedStage(e));
        }
        for (var i = 0; i < batch.size(); i++) {
            LeaseSeat.deliver(batch.get(i).loop(), answers.get(i), batch.get(i).onAnswer());
        }
    }

    /** Watches through the store. If it cannot at the moment, we are told nothing, and find out by asking. */
    private Watch watch(String election, Consumer<View> watcher) {
        Watch watch;
        try {
            watch = store.watch(election, watcher);
        } catch (RuntimeException | Error e) {
            Quietly.run(() ->
                    log.warn("cannot watch \"{}\" on {}; changes will be noticed later", election, describe(), e));
            return Watch.NONE;
        }
        if (watch.equals(Watch.NONE)) {
            return watch;
        }
        var ours = new OpenWatch(watch);
        open.add(ours);
        return ours;
    }

    /** One that close() will not forget. */
    private final class OpenWatch implements Watch {
        private final Watch watch;

        private OpenWatch(Watch watch) {
            this.watch = watch;
        }

        @Override
        public void close() {
            if (open.remove(this)) {
                watch.close();
            }
        }
    }

    private record Due(Lease lease, Loop loop, BiConsumer<@Nullable Answer, @Nullable Throwable> onAnswer) {}

    /** The seats of one election, and the one watch that they share. */
    private static final class Watched {
        private final Set<LeaseSeat> seats = new LinkedHashSet<>();
        private Watch watch = Watch.NONE;

        private void tell(View view) {
            List.copyOf(seats).forEach(seat -> seat.noticed(view));
        }
    }

    private final class RenewalBatcher implements LeaseSeat.RenewalBatcher {
        private final Loop loop;

        private RenewalBatcher(Loop loop) {
            this.loop = loop;
        }

        @Override
        public void join(LeaseSeat seat) {
            var election = seat.standing().election();
            var shared = watched.computeIfAbsent(election, name -> new Watched());
            shared.seats.add(seat);
            if (shared.watch.equals(Watch.NONE)) {
                shared.watch = watch(election, view -> loop.shared().execute(() -> shared.tell(view)));
            }
        }

        @Override
        public void renew(Lease lease, BiConsumer<@Nullable Answer, @Nullable Throwable> onAnswer) {
            due.add(new Due(lease, loop, onAnswer));
            if (!flushing) {
                loop.shared().execute(LeaseArbiter.this::flush); // behind all that is due in this turn
                flushing = true;
            }
        }

        @Override
        public void leave(LeaseSeat seat) {
            var election = seat.standing().election();
            var shared = watched.get(election);
            if (shared != null && shared.seats.remove(seat) && shared.seats.isEmpty()) {
                watched.remove(election);
                shared.watch.close();
            }
        }
    }

    /**
     * Watches for somebody who does not stand. A store tells of no lease that runs out, so we look again when one
     * should have.
     */
    private final class Observer implements Watch {
        private final String election;
        private final Consumer<View> watcher;
        private final Loop loop;
        private Watch watch = Watch.NONE;
        private volatile boolean closed;
        private boolean unreadable; // and that was told
        private @Nullable View last;
        private long vacancies; // so often the seat was seen vacant
        private Loop.@Nullable Timer timer;

        private Observer(String election, Consumer<View> watcher, Loop loop) {
            this.election = election;
            this.watcher = watcher;
            this.loop = loop;
        }

        private void begin() {
            if (closed) {
                return;
            }
            watch = LeaseArbiter.this.watch(election, view -> loop.execute(() -> see(view, true)));
            look();
        }

        private void look() {
            if (!closed) {
                lookAgainIn(LOOK_NANOS); // should no answer come
                var known = vacancies;
                LeaseSeat.deliver(loop, Requests.ask(() -> store.read(election)), (view, error) -> {
                    tell(error);
                    if (view != null) {
                        see(view, vacancies != known);
                    }
                });
            }
        }

        /**
         * Says once in the log that the seat cannot be read. No answer is an outage, of which nobody is told here; and
         * what a store says that has been closed asks for nobody.
         */
        private void tell(@Nullable Throwable error) {
            if (closed || over) {
                return;
            }
            if (error == null && unreadable) {
                unreadable = false;
                Quietly.run(() -> log.info("\"{}\" on {} can be read again", election, describe()));
            } else if (error instanceof ElectionException && !(error instanceof UnavailableException) && !unreadable) {
                unreadable = true;
                Quietly.run(() -> log.warn(
                        "\"{}\" on {} cannot be read: {}. A watch of it may hear of no change until it can be;"
                                + " trying again every {}",
                        election,
                        describe(),
                        error.getMessage(),
                        Durations.show(Duration.ofNanos(LOOK_NANOS))));
            }
        }

        /** Sees a view that may be from before the seat was seen vacant last, or cannot be. */
        private void see(View view, boolean fromBefore) {
            if (closed || isOlder(view, fromBefore)) {
                return;
            }
            last = view;
            if (view.holder().isEmpty()) {
                vacancies++;
            }
            if (view.holder().isPresent() && !view.remaining().isZero()) {
                lookAgainIn(view.remaining().toNanos() + 1_000_000);
            } else {
                lookAgainIn(watch.equals(Watch.NONE) ? LOOK_NANOS : SAFETY_NANOS);
            }
            watcher.accept(view);
        }

        /**
         * Tokens only rise, and a seat that was vacated is never held again under the same token. But a reading may
         * take one for vacant that is not, by the clock of a server: those that were asked for later count.
         */
        private boolean isOlder(View view, boolean fromBefore) {
            return last != null
                    && (view.token() < last.token()
                            || (fromBefore
                                    && view.token() == last.token()
                                    && last.holder().isEmpty()
                                    && view.holder().isPresent()));
        }

        private void lookAgainIn(long nanos) {
            if (timer != null) {
                timer.cancel();
            }
            timer = loop.at(loop.clock().nanos() + nanos, this::look);
        }

        @Override
        public void close() {
            closed = true;
            loop.execute(() -> {
                watch.close();
                if (timer != null) {
                    timer.cancel();
                }
            });
        }
    }
}
