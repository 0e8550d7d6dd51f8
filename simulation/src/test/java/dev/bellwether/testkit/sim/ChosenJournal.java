package dev.bellwether.testkit.sim;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Cause;
import dev.bellwether.spi.Moment;
import dev.bellwether.spi.Proof;
import dev.bellwether.spi.journal.JournalSeat;
import dev.bellwether.spi.journal.SeatClaim;
import dev.bellwether.spi.journal.SeatHold;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The machines of a journal, {@link JournalSeat} and {@link SeatHold}, and a log: its records are appended late or
 * twice, and read at any time; a reader may lose a part of it. Whoever stands claims at any time, as if no group said
 * whose turn it is.
 */
final class ChosenJournal implements Chosen {
    private static final Duration LEASE = Duration.ofSeconds(3);
    private static final Duration BUDGET = Duration.ofMillis(10);
    private static final double DRIFT_BOUND = 0.01;
    private static final int CLAIMS = 2;

    private static final CandidacyConfig CONFIG = CandidacyConfig.builder()
            .lease(LEASE)
            .standDownBudget(BUDGET)
            .driftBound(DRIFT_BOUND)
            .build();

    private enum What {
        CLAIM,
        BEAT,
        CONCESSION,
        RELEASE
    }

    /** One that was sent; the token of a claim is where it stands. */
    private record Sent(What what, int member, String id, long token, Moment at, Duration within) {}

    private final List<Member> members = new ArrayList<>();
    private final List<Sent> underWay = new ArrayList<>();
    private final List<Sent> appended = new ArrayList<>(); // may be so once more
    private final List<Sent> log = new ArrayList<>();
    private final List<String> begun = new ArrayList<>();
    private int faultsLeft;
    private long now;
    private int mandates;
    private @Nullable String violation;

    ChosenJournal(Situation situation, int members, int faults) {
        faultsLeft = faults;
        for (var i = 0; i < members; i++) {
            this.members.add(new Member(i));
        }
        switch (situation) {
            case BEGINNING -> {}
            case LED -> begin(false);
            case RENEWED -> begin(true);
            case CLAIMED, RENEWING, REPLACED -> throw new IllegalArgumentException("not of a journal: " + situation);
        }
    }

    @Override
    public List<String> begun() {
        return begun;
    }

    /** The first claims, and all read that. If it renews, that stands in the log, and nobody has read it. */
    private void begin(boolean renews) {
        beginWith("c0 claims");
        beginWith("appended");
        members.forEach(member -> beginWith(member + " reads"));
        if (renews) {
            beginWith("c0 writes a beat");
            beginWith("appended");
        }
    }

    private void beginWith(String words) {
        var next = steps().stream()
                .filter(step -> !step.isFault() && step.name().get().contains(words))
                .findFirst()
                .orElseThrow();
        begun.add(next.name().get());
        take(next);
    }

    @Override
    public List<Step> steps() {
        var steps = new ArrayList<Step>();
        for (var sent : List.copyOf(underWay)) {
            steps.add(new Step(() -> sent + " is appended", null, () -> {
                underWay.remove(sent);
                appended.add(sent);
                append(sent);
            }));
        }
        for (var sent : List.copyOf(appended)) {
            steps.add(new Step(() -> sent + " is appended once more", Deviation.DOUBLE, () -> append(sent)));
        }
        steps.add(new Step(() -> "a second passes", null, () -> now += 1_000_000_000L));
        members.forEach(member -> member.steps(steps));
        steps.removeIf(step -> step.isFault() && faultsLeft == 0);
        return steps;
    }

    private void append(Sent sent) {
        log.add(
                sent.what == What.CLAIM
                        ? new Sent(What.CLAIM, sent.member, sent.id, log.size() + 1, sent.at, sent.within)
                        : sent);
    }

    @Override
    public void take(Step step) {
        faultsLeft -= step.isFault() ? 1 : 0;
        step.what().run();
        Member leader = null;
        for (var member : members) {
            if (member.leads()) {
                if (leader != null && violation == null) {
                    violation = "two lead: " + leader + " and " + member;
                }
                leader = member;
            }
        }
    }

    @Override
    public @Nullable String violation() {
        return violation;
    }

    @Override
    public int mandates() {
        return mandates;
    }

    @Override
    public String state() {
        var text = new StateText();
        text.add(now, faultsLeft, underWay, appended, log);
        for (var member : members) {
            text.add(member.claims, member.place, member.id, member.deadlineNanos);
            text.graph(member.seat);
            text.graph(member.hold);
        }
        return text.toString();
    }

    private final class Member implements SeatHold.Effects {
        private final int index;
        private final double rate;
        private final JournalSeat seat = new JournalSeat();
        private final SeatHold hold;
        private int claims;
        private int place;
        private String id = "";
        private long deadlineNanos = Long.MIN_VALUE;

        private Member(int index) {
            this.index = index;
            rate = 1 + DRIFT_BOUND * (index == 0 ? -0.45 : 0.45);
            hold = new SeatHold(CONFIG, moment(), this);
        }

        private Moment moment() {
            return new Moment((long) (now * rate), (long) (now * rate) / 1_000_000);
        }

        private long nanos() {
            return moment().nanos();
        }

        private boolean leads() {
            return hold.phase() == SeatHold.Phase.HOLDING && nanos() < deadlineNanos;
        }

        private void send(What what, String claim, long token, Duration within) {
            underWay.add(new Sent(what, index, claim, token, moment(), within));
        }

        private void steps(List<Step> steps) {
            if (place < log.size()) {
                steps.add(new Step(() -> this + " reads " + log.get(place), null, () -> read(log.get(place++))));
                steps.add(new Step(() -> this + " loses what it has not read", Deviation.GAP, () -> {
                    place = log.size();
                    seat.beganAgain(nanos(), nanos() + LEASE.toNanos());
                    hold.lose(Cause.EXPIRED, nanos());
                }));
            }
            switch (hold.phase()) {
                case STANDING -> {
                    if (claims < CLAIMS) {
                        steps.add(new Step(() -> this + " claims", null, () -> {
                            id = this + "-" + ++claims;
                            send(What.CLAIM, id, 0, Duration.ZERO);
                            hold.claiming(moment());
                        }));
                    }
                }
                case CLAIMING -> {}
                case BARRED, HOLDING -> {
                    steps.add(new Step(
                            () -> this + " writes a beat",
                            null,
                            () -> send(What.BEAT, id, hold.token(), Duration.ZERO)));
                    if (hold.phase() == SeatHold.Phase.HOLDING) {
                        steps.add(new Step(
                                () -> this + " concedes",
                                Deviation.END,
                                () -> hold.concede(Duration.ofSeconds(1), nanos())));
                    }
                }
                case ENDING ->
                    steps.add(new Step(() -> "the work of " + this + " ends", null, () -> hold.drop(nanos())));
            }
        }

        private void read(Sent sent) {
            var claim = new SeatClaim(
                    sent.id,
                    "c" + sent.member,
                    sent.token,
                    nanos() + (sent.what == What.CONCESSION ? sent.within : LEASE).toNanos(),
                    false);
            switch (sent.what) {
                case CLAIM -> seat.claimed(claim, nanos());
                case BEAT -> seat.held(claim, nanos());
                case CONCESSION -> seat.conceded(claim, nanos());
                case RELEASE -> seat.released(claim, nanos());
            }
            var isOurs = seat.state().isTakenUnder(id);
            if (sent.id.equals(id) && sent.what == What.CLAIM) {
                hold.claimRead(sent.token, isOurs, nanos());
            } else if (sent.id.equals(id) && sent.what == What.BEAT && isOurs) {
                hold.beatRead(sent.at, nanos());
            }
            if (hold.token() > 0 && !isOurs) {
                hold.lose(Cause.REPLACED, nanos());
            }
        }

        private void proof(Proof proof) {
            var guarantee = proof.guarantee().toNanos();
            deadlineNanos =
                    proof.since().nanos() + guarantee - (long) Math.ceil(guarantee * DRIFT_BOUND) - BUDGET.toNanos();
        }

        @Override
        public long barredNanosAt(long nanos) {
            return seat.state().barredNanosAt(nanos, toString());
        }

        @Override
        public void granted(long token, Proof proof) {
            mandates++;
            proof(proof);
        }

        @Override
        public void proven(long token, Proof proof) {
            if (leads()) { // a mandate that is over does not come back
                proof(proof);
            }
        }

        @Override
        public void lost(long token, Cause cause) {}

        @Override
        public void concede(long token, Duration within) {
            send(What.CONCESSION, id, token, within);
        }

        @Override
        public void release(long token, boolean led) {
            send(What.RELEASE, id, token, Duration.ZERO);
        }

        @Override
        public void dropped() {
            id = "";
        }

        @Override
        public String toString() {
            return "c" + index;
        }
    }
}
