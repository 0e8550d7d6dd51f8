package dev.bellwether.internal.joint;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Candidate;
import dev.bellwether.ElectionException;
import dev.bellwether.Watch;
import dev.bellwether.internal.election.LazyArbiter;
import dev.bellwether.internal.loop.Requests;
import dev.bellwether.spi.Arbiter;
import dev.bellwether.spi.Claimant;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Loop;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RosterCarrier;
import dev.bellwether.spi.Seat;
import dev.bellwether.spi.Standing;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Two infrastructures, of which a leader has the seats of both. Thread-safe. */
public final class JointArbiter implements Arbiter {
    private final Side old;
    private final Side next;
    private final JointRules rules;

    /**
     * One of the two.
     *
     * @param loop the loop of its elections; null if it is on the loop of the joint ones
     * @param close lets go of it
     */
    public record Side(Arbiter arbiter, @Nullable Loop loop, Runnable close) {
        private CompletionStage<View> read(String election, Loop joint) {
            return Requests.ask(() -> arbiter.read(election, loop == null ? joint : loop));
        }

        private Watch watch(String election, Consumer<View> watcher, Loop joint) {
            return arbiter.watch(election, watcher, loop == null ? joint : loop);
        }
    }

    public JointArbiter(Side old, Side next) {
        this(old, next, JointRules.TRUE);
    }

    JointArbiter(Side old, Side next, JointRules rules) {
        if (old.arbiter() instanceof JointArbiter || next.arbiter() instanceof JointArbiter) {
            throw new ElectionException("joint elections cannot be held jointly with others: name the two"
                    + " infrastructures that one deployment leads from and to");
        }
        this.old = old;
        this.next = next;
        this.rules = rules;
    }

    Side old() {
        return old;
    }

    Side next() {
        return next;
    }

    CompletionStage<View> readNext(String election, Loop joint) {
        return next.read(election, joint);
    }

    @Override
    public String describe() {
        return old.arbiter().describe() + " and " + next.arbiter().describe() + " jointly";
    }

    // ---------------------------------------------------------------- candidates

    @Override
    public Optional<String> handOverObjection() {
        return Optional.of("joint elections are made of two seats, which cannot pass to one candidate in one step: let"
                + " the leader stand down, or hand over when the move is done");
    }

    @Override
    public Optional<String> proclaimObjection() {
        return old.arbiter().proclaimObjection().or(next.arbiter()::proclaimObjection);
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        if (!next.arbiter().setsTokens()) {
            throw cannotRaise(election);
        }
        old.arbiter().check(election, config);
        next.arbiter().check(election, config);
    }

    ElectionException cannotRaise(String election) {
        return LazyArbiter.cannotRaise(
                next.arbiter().describe() + " cannot be held jointly with "
                        + old.arbiter().describe(),
                election);
    }

    @Override
    public CandidacyConfig completed(CandidacyConfig config) {
        return next.arbiter().completed(old.arbiter().completed(config));
    }

    @Override
    public Seat seat(Standing standing, Claimant claimant, Loop loop) {
        return new JointSeat(standing, this, claimant, loop, rules);
    }

    @Override
    public List<Finding> findings(CandidacyConfig config) {
        return Stream.concat(findings("old", old, config), findings("next", next, config))
                .toList();
    }

    private static Stream<Finding> findings(String which, Side side, CandidacyConfig config) {
        return side.arbiter().findings(config).stream()
                .map(one ->
                        new Finding(one.level(), which + ": " + one.about(), one.says(), one.remedy(), one.terms()));
    }

    @Override
    public Duration renewal(CandidacyConfig config) {
        return longer(old.arbiter().renewal(config), next.arbiter().renewal(config));
    }

    @Override
    public Duration recovery(CandidacyConfig config) {
        return longer(old.arbiter().recovery(config), next.arbiter().recovery(config));
    }

    private static Duration longer(Duration one, Duration other) {
        return one.compareTo(other) > 0 ? one : other;
    }

    @Override
    public Optional<RosterCarrier> rosters() {
        throw new ElectionException("a roster cannot be held on " + describe()
                + ": its roles are dealt out by one group of members, and two groups would deal them out differently."
                + " Join the next roster when the old one has been left");
    }

    // ---------------------------------------------------------------- observers and operators

    @Override
    public CompletionStage<View> read(String election, Loop loop) {
        return old.read(election, loop).thenCombine(next.read(election, loop), JointArbiter::both);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher, Loop loop) {
        var both = new Both(watcher);
        var ofOld = old.watch(election, view -> loop.execute(() -> both.seeOld(view)), loop);
        Watch ofNext;
        try {
            ofNext = next.watch(election, view -> loop.execute(() -> both.seeNext(view)), loop);
        } catch (RuntimeException | Error e) {
            ofOld.close();
            throw e;
        }
        return () -> {
            try {
                ofOld.close();
            } finally {
                ofNext.close();
            }
        };
    }

    /** The old seat has tokens of its own, which may be lower than those that the next one had before. */
    @Override
    public boolean watchesInOrder() {
        return true;
    }

    /**
     * Returns the election as seen from outside. The holder of the next seat leads. The holder of the old one only
     * leads if it elects by that alone, or is about to, whatever tokens the next one has had. If it holds it under the
     * last token of the next one, it led by both, and has given that one back.
     */
    static View both(View old, View next) {
        var token = Math.max(old.token(), next.token());
        var shown = next.holder().isPresent() || old.token() == next.token() ? next : old;
        var leader = shown.holder().map(View.Holder::candidate).orElse("");
        var candidates = new TreeMap<String, Candidate>();
        Stream.concat(old.candidates().stream(), next.candidates().stream())
                .forEach(one -> candidates.put(
                        one.id(),
                        new Candidate(
                                one.id(),
                                one.priority(),
                                one.metadata(),
                                one.id().equals(leader),
                                one.id().equals(leader) ? Optional.empty() : one.heard())));
        return View.of(old.election(), shown.holder().isPresent() ? shown.token() : token)
                .heldBy(shown.holder(), shown.remaining())
                .orderedToStandDown(shown.standDown())
                .inEra(old.era() + next.era(), old.ended() || next.ended())
                .among(Math.max(old.topPriority(), next.topPriority()), List.copyOf(candidates.values()))
                .listingAll(old.allListed() && next.allListed());
    }

    /** To stand down is ordered who leads: of the next seat, or of the old one if nobody has the next. */
    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return switch (order) {
            case STAND_DOWN ->
                next.arbiter()
                        .order(election, order)
                        .thenCompose(done -> done
                                ? CompletableFuture.completedFuture(true)
                                : old.arbiter().order(election, order));
            case END, DELETE, REOPEN ->
                old.arbiter()
                        .order(election, order)
                        .thenCombine(next.arbiter().order(election, order), (one, other) -> one || other);
        };
    }

    @Override
    public CompletionStage<List<String>> list() {
        return old.arbiter().list().thenCombine(next.arbiter().list(), (one, other) -> {
            var all = new ArrayList<>(one);
            other.stream().filter(name -> !one.contains(name)).forEach(all::add);
            return List.copyOf(all);
        });
    }

    @Override
    public void close() {
        try {
            old.close().run();
        } finally {
            next.close().run();
        }
    }

    /** Puts together what two watches tell, when both have. Confined to the loop. */
    private static final class Both {
        private final Consumer<View> watcher;
        private @Nullable View old;
        private @Nullable View next;

        private Both(Consumer<View> watcher) {
            this.watcher = watcher;
        }

        private void seeOld(View view) {
            if (old == null || view.token() >= old.token()) {
                old = view;
                tell();
            }
        }

        private void seeNext(View view) {
            if (next == null || view.token() >= next.token()) {
                next = view;
                tell();
            }
        }

        private void tell() {
            if (old != null && next != null) {
                watcher.accept(both(old, next));
            }
        }
    }
}
