package dev.bellwether.internal.record;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.RecordTraits;
import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One seat on a {@link ModelStore}, drawn from a seed: candidates with clocks of their own that claim, renew, stand
 * down, crash, freeze, are cut off and are copied; operators that order, delete and overwrite; a store that drops keys
 * and forgets writes. No server, no thread, no clock of the machine.
 *
 * <p>What is found: two leaders in true time, a token that does not rise, an order that hits more than it was for, and
 * nobody leading when nothing is wrong any more. Two leaders are excused as long as one of them goes by a write that
 * the store acknowledged and forgot, or by a proof from before it was copied: no protocol helps there. What a store
 * forgot excuses a token, too, unless its revisions are times.
 */
final class SeatSimulation {
    private static final long MILLI = 1_000_000;
    private static final long STORM = 40_000 * MILLI;
    private static final double DRIFT_BOUND = 0.01;
    private static final String ELECTION = "simulated";

    /** What a run is told beside its seed. */
    record Setting(SeatRules rules, boolean freshNonces, boolean beside) {
        static final Setting TRUE = new Setting(SeatRules.TRUE, true, false);

        static Setting of(SeatRules rules) {
            return new Setting(rules, true, false);
        }

        /** Others hold elections on the same record by rules of their own. */
        static Setting beside(SeatRules rules) {
            return new Setting(rules, true, true);
        }
    }

    private record Event(long time, long number, Runnable what) {}

    private final Setting setting;
    private final Random random;
    private final Random fate; // of stores whose revisions are times
    private final ModelStore store;
    private final PriorityQueue<Event> agenda =
            new PriorityQueue<>(Comparator.comparingLong(Event::time).thenComparingLong(Event::number));
    private final List<Member> processes = new ArrayList<>();
    private final List<ForeignCandidate> others = new ArrayList<>();
    private final RecordTraits traits;
    private final boolean vanishes;
    private final boolean timed;
    private final boolean deletes;
    private final boolean forgets;
    private final boolean copies;
    private double bad; // how bad the network is
    private final Duration[] leases;
    private final Member operator;
    private final Set<Long> tokens = new HashSet<>();
    private final Set<String> grants = new HashSet<>();
    private final Map<String, Instant> grantedAt = new HashMap<>(); // by the store's clock, by nonce
    private long now;
    private long events;
    private long serial;
    private long connection; // of all: it breaks when the store falls back
    private boolean storm = true;
    private boolean fell;
    private boolean unclear; // an order over what it could not read keeps the seat for a minute
    private long lastLed;
    private int terms;
    private @Nullable String violation;

    SeatSimulation(long seed, Setting setting) {
        this.setting = setting;
        random = new Random(seed * 0x9E3779B97F4A7C15L + 1);
        fate = new Random(~seed);
        vanishes = random.nextInt(3) == 0 && !setting.beside;
        timed = vanishes && fate.nextInt(3) == 0;
        store = new ModelStore(new Random(seed), timed);
        deletes = random.nextInt(3) == 0 && !setting.beside;
        forgets = random.nextInt(2) == 0 && !setting.beside;
        copies = random.nextInt(3) == 0 && !setting.beside;
        bad = random.nextInt(3) == 0 ? 0 : 0.3 * random.nextDouble();
        var same = vanishes || deletes;
        traits = setting.beside
                ? RecordTraits.PLAIN.beside(ForeignCandidate.RULES, "others do not obey it")
                : RecordTraits.PLAIN.vanishing(vanishes);
        var tooLong = Duration.ofSeconds(8);
        leases = new Duration[] {
            Duration.ofSeconds(3),
            Duration.ofSeconds(same ? 3 : 2),
            setting.beside && setting.rules.mayStand(tooLong, traits.others())
                    ? tooLong
                    : Duration.ofSeconds(same ? 3 : setting.beside ? 4 : 5)
        };
        operator = new Member("operator", 3);
    }

    /** Returns what was found that must never be. */
    Optional<String> run() {
        for (var i = 0; i < 3; i++) {
            start(i, between(0, 2_000));
        }
        for (var i = 0; setting.beside && i < 2; i++) {
            startOther(between(0, 10_000));
        }
        at(between(500, 3_000), this::disturb);
        runUntil(STORM);
        storm = false;
        bad = 0;
        runUntil(STORM + 12_000 * MILLI); // all that was frozen, cut off or late is over
        var dead = random.nextBoolean();
        if (dead) {
            processes.stream().filter(Member::leads).forEach(Member::crash);
            if (!setting.beside) {
                orderAgain();
            }
        }
        reopen();
        var began = now;
        var grace = setting.beside
                ? ForeignCandidate.LEASE.plus(traits.others().grace()).toNanos()
                : 0;
        var bound = (unclear ? 60_000 * MILLI : longestLease() + grace) * 7 / 2 + 2_000 * MILLI;
        while (violation == null && lastLed <= began && now - began < bound && step()) {
            look();
        }
        if (violation == null && lastLed <= began && processes.stream().anyMatch(Member::stands)) {
            violation = "nobody leads " + (now - began) / MILLI + " ms after the last fault, the seat being "
                    + store.read() + " for " + processes;
        }
        return Optional.ofNullable(violation);
    }

    /** Returns how many mandates there were. */
    int terms() {
        return terms;
    }

    private void runUntil(long end) {
        while (violation == null && now < end && step()) {
            look();
        }
    }

    private boolean step() {
        var next = agenda.poll();
        if (next == null) {
            return false;
        }
        now = Math.max(now, next.time);
        next.what.run();
        return true;
    }

    private void look() {
        Member leader = null;
        for (var process : processes) {
            if (process.leads()) {
                lastLed = now;
                if (leader != null && !leader.excused && !process.excused) {
                    violation = "two lead at " + now / MILLI + " ms: " + leader.name + " under " + leader.token
                            + " and " + process.name + " under " + process.token;
                }
                leader = leader == null || leader.excused ? process : leader;
            }
        }
        for (var other : others) { // two of theirs are their own affair
            if (other.leads()) {
                lastLed = now;
                if (leader != null) {
                    violation = "two lead at " + now / MILLI + " ms: " + leader.name + " under " + leader.token
                            + " and " + other;
                }
            }
        }
    }

    private void startOther(long delay) {
        in(
                delay,
                () -> others.add(new ForeignCandidate(
                        "other" + ++serial,
                        world(),
                        store,
                        random,
                        1 + (random.nextDouble() - 0.5) * DRIFT_BOUND * 0.99)));
    }

    private ForeignCandidate.World world() {
        return new ForeignCandidate.World() {
            @Override
            public long now() {
                return now;
            }

            @Override
            public void in(long nanos, Runnable what) {
                SeatSimulation.this.in(nanos, what);
            }

            @Override
            public long delay() {
                return SeatSimulation.this.delay();
            }

            @Override
            public boolean passes() {
                return random.nextDouble() >= bad / 3;
            }

            @Override
            public void wrote() {
                tell();
            }
        };
    }

    private void disturbOthers() {
        var living = others.stream().filter(ForeignCandidate::isAlive).toList();
        if (living.isEmpty()) {
            return;
        }
        var victim = living.get(random.nextInt(living.size()));
        switch (random.nextInt(4)) {
            case 0 -> {
                victim.crash();
                startOther(between(10, 6_000));
            }
            case 1 -> victim.cut(between(100, 8_000), between(100, 15_000));
            case 2 -> victim.cut(between(2_000, 6_000), between(100, 15_000));
            default -> victim.stop();
        }
    }

    private void at(long time, Runnable what) {
        agenda.add(new Event(time, events++, what));
    }

    private void in(long nanos, Runnable what) {
        at(now + nanos, what);
    }

    private long between(long fromMillis, long toMillis) {
        return fromMillis * MILLI + (long) (random.nextDouble() * (toMillis - fromMillis) * MILLI);
    }

    private long longestLease() {
        return Math.max(leases[0].toNanos(), leases[2].toNanos());
    }

    private String chance() {
        return "s" + ++serial; // differs for whoever draws it
    }

    private void start(int place, long delay) {
        in(delay, () -> {
            var process = new Member("c" + place + "." + ++serial, place);
            processes.add(process);
            process.claimIn(0);
        });
    }

    // ---------------------------------------------------------------- what goes wrong

    private void disturb() {
        if (!storm) {
            return;
        }
        in(between(50, 2_500), this::disturb);
        var waiting = processes.stream().filter(Member::waitsForOthers).findFirst();
        if (waiting.isPresent() && random.nextInt(3) == 0) {
            waiting.get().crash();
            start(waiting.get().place, between(10, 6_000));
            return;
        }
        if (setting.beside && random.nextBoolean()) {
            disturbOthers();
            return;
        }
        var standing = processes.stream().filter(Member::stands).toList();
        var victim = standing.isEmpty() ? null : standing.get(random.nextInt(standing.size()));
        switch (random.nextInt(12)) {
            case 0 -> {
                if (victim != null) {
                    victim.crash();
                    start(victim.place, between(10, 6_000));
                }
            }
            case 1 -> {
                if (victim != null) {
                    victim.frozenUntil = now + between(10, 7_000);
                }
            }
            case 2, 3 -> {
                if (victim != null) {
                    victim.cutUntil = now + between(100, 9_000);
                }
            }
            case 4 -> {
                if (victim != null && victim.leads()) {
                    victim.standDown();
                }
            }
            case 5, 6 ->
                order(
                        setting.beside
                                ? Order.STAND_DOWN
                                : new Order[] {Order.STAND_DOWN, Order.STAND_DOWN, Order.END, Order.DELETE}
                                        [random.nextInt(4)]);
            case 7 -> {
                if (vanishes) {
                    store.drop(now);
                }
            }
            case 8 -> {
                if (deletes) {
                    store.overwrite(random.nextBoolean() ? SeatRecord.Kind.DELETED : SeatRecord.Kind.FOREIGN, now);
                    tell();
                }
            }
            case 9 -> {
                if (timed) {
                    loseAll();
                } else if (forgets && random.nextInt(3) == 0) {
                    connection++;
                    fell = true;
                    tokens.clear(); // nobody need know of those that are lost
                    store.rollBack(now - between(0, 8_000));
                    processes.forEach(Member::checkProof);
                }
            }
            case 10 -> {
                if (copies && victim != null && standing.size() < 5) {
                    processes.add(victim.copy());
                }
            }
            default -> {}
        }
    }

    /** And those who use it may be started again at the same time: then nobody knows what was. */
    private void loseAll() {
        connection++;
        fell = true;
        store.loseAll();
        processes.forEach(Member::checkProof);
        if (fate.nextBoolean()) {
            operator.memory = new SeatMemory(ELECTION, traits, setting.rules);
            processes.stream().filter(process -> process.alive).toList().forEach(process -> {
                process.crash();
                start(process.place, between(10, 6_000));
            });
        }
    }

    private void order(Order order) {
        var request = new OrderRequest(operator.memory, this::chance, order);
        operator.perform(request, new Effects(), (done, error) -> {});
        if (order == Order.END) {
            in(between(500, 2_000), () -> order(Order.DELETE));
        }
    }

    /** In the end, too: until somebody leads. */
    private void orderAgain() {
        order(Order.STAND_DOWN);
        in(1_000 * MILLI, this::orderAgain);
    }

    /** Whoever ends an election begins it again. */
    private void reopen() {
        if (store.read().record().ended()) {
            order(Order.DELETE);
        }
        in(500 * MILLI, this::reopen);
    }

    private void tell() {
        var stored = store.read();
        for (var process : processes) {
            if (random.nextDouble() >= bad) {
                process.deliver(delay(), () -> process.heard(stored));
            }
            if (random.nextDouble() < bad) {
                process.deliver(delay() + between(0, 3_000), () -> process.heard(stored));
            }
        }
    }

    private long delay() {
        return random.nextDouble() < bad / 3 ? between(0, 4_000) : between(0, 20);
    }

    /** What one order has written. */
    private final class Effects {
        private final Set<Long> stoodDown = new HashSet<>();
        private final Set<Long> eras = new HashSet<>();

        private void note(SeatRecord before, SeatRecord record) {
            if (record.orders().standDown() != 0
                    && record.orders().standDown() != before.orders().standDown()) {
                stoodDown.add(record.orders().standDown());
            }
            if (record.era() > before.era()) {
                eras.add(record.era());
            }
            if (!fell && (stoodDown.size() > 1 || eras.size() > 1)) {
                violation = "one order told " + stoodDown + " to stand down, and made the eras " + eras;
            }
        }
    }

    // ---------------------------------------------------------------- processes

    /** A candidate's process, or an operator's. */
    private final class Member {
        private final String name;
        private final int place;
        private final double rate;
        private final long offset;
        private SeatMemory memory;
        private Duration lease;
        private boolean alive = true;
        private boolean holding;
        private boolean excused;
        private long frozenUntil;
        private long cutUntil;
        private long copiedAt = Long.MIN_VALUE; // by its own clock
        private int attempt;
        private int claims;
        private @Nullable Claim claim;
        private String proof = "";
        private long token;
        private long deadline;
        private long provenAt;
        private boolean waiting;

        private Member(String name, int place) {
            this(name, place, 1 + (random.nextDouble() - 0.5) * DRIFT_BOUND * 0.99, random.nextInt());
        }

        private Member(String name, int place, double rate, long offset) {
            this.name = name;
            this.place = place;
            this.rate = rate;
            this.offset = offset;
            lease = leases[place % leases.length];
            memory = new SeatMemory(ELECTION, traits, setting.rules);
        }

        private Member copy() {
            var copy = new Member(name + "'", place, rate, offset);
            copy.memory = new SeatMemory(memory);
            copy.lease = lease;
            copy.holding = holding;
            copy.claims = claims;
            copy.claim = claim;
            copy.proof = proof;
            copy.token = token;
            copy.deadline = deadline;
            copy.provenAt = provenAt;
            copiedAt = clock();
            copy.copiedAt = copiedAt;
            excused = true;
            copy.excused = true;
            if (holding) {
                copy.renewIn(between(0, 700));
                copy.watchDeadline();
            } else {
                copy.claimIn(between(0, 500));
            }
            return copy;
        }

        @Override
        public String toString() {
            return alive
                    ? name + (holding ? " holds" : waiting ? " waits" : " claims") + " knowing "
                            + memory.observed().map(ObservedRecord::stored).orElse(null)
                    : "";
        }

        private long clock() {
            return offset + (long) (now * rate);
        }

        private boolean stands() {
            return alive;
        }

        private boolean leads() {
            return alive && holding && clock() - deadline < 0;
        }

        /** Returns whether it has claimed, and is not to lead before others cannot. */
        private boolean waitsForOthers() {
            return alive
                    && memory.observed()
                            .map(ObservedRecord::record)
                            .filter(record -> record.kind() == SeatRecord.Kind.PENDING)
                            .filter(record -> record.candidate().equals("c" + place))
                            .isPresent();
        }

        private void crash() {
            alive = false;
            holding = false;
        }

        /** Lets this happen to the process, when it runs. */
        private void deliver(long delay, Runnable what) {
            in(delay, () -> {
                if (alive && frozenUntil > now) {
                    deliver(frozenUntil - now, what);
                } else if (alive) {
                    what.run();
                }
            });
        }

        private void after(long nanos, Runnable what) {
            deliver(nanos, what);
        }

        private boolean passes() {
            return cutUntil <= now && random.nextDouble() >= bad / 3;
        }

        // ------------------------------------------------------------ requests

        private <T> void perform(
                SeatRequest<T> request,
                @Nullable Effects effects,
                BiConsumer<@Nullable T, @Nullable RuntimeException> then) {
            memory.over(connection);
            advance(request, effects, then, request.begin(clock()));
        }

        private <T> void advance(
                SeatRequest<T> request,
                @Nullable Effects effects,
                BiConsumer<@Nullable T, @Nullable RuntimeException> then,
                SeatStep<T> step) {
            if (step.kind() == SeatStep.Kind.DONE) {
                then.accept(step.value(), null);
                return;
            }
            if (step.kind() == SeatStep.Kind.FAILED) {
                then.accept(null, step.error());
                return;
            }
            var open = new boolean[] {true};
            BiConsumer<Long, Supplier<SeatStep<T>>> answer = (ofConnection, next) -> {
                if (ofConnection == connection && passes()) {
                    deliver(delay(), () -> {
                        if (open[0] && ofConnection == connection) {
                            open[0] = false;
                            advance(request, effects, then, next.get());
                        }
                    });
                }
            };
            after(lease.toNanos() / 3, () -> {
                if (open[0]) {
                    open[0] = false;
                    advance(request, effects, then, request.unanswered(new UnavailableException("no answer"), clock()));
                }
            });
            var times = random.nextDouble() < bad / 2 ? 2 : 1;
            var sentOver = connection;
            for (var i = 0; i < times && passes(); i++) {
                in(delay() + (i == 0 ? 0 : between(0, 3_000)), () -> {
                    if (sentOver == connection) {
                        carryOut(request, effects, step, next -> answer.accept(sentOver, next));
                    }
                });
            }
        }

        private <T> void carryOut(
                SeatRequest<T> request,
                @Nullable Effects effects,
                SeatStep<T> step,
                java.util.function.Consumer<Supplier<SeatStep<T>>> answer) {
            if (step.kind() == SeatStep.Kind.READ) {
                var found = random.nextDouble() < bad / 4 ? store.readStale() : store.read();
                var given = step.confirming() ? store.given() : 0;
                answer.accept(() -> request.read(found, given, clock()));
                return;
            }
            var before = store.read().record();
            var revision = store.write(step.expected(), step.next(), now);
            if (revision > 0) {
                var written = revision % 2 == 0 ? Instant.EPOCH : store.read().written(); // not all stores say when
                if (effects != null) {
                    effects.note(before, step.next());
                }
                checkSince(step.next());
                unclear |= step.next().lease().compareTo(Duration.ofMinutes(1)) >= 0;
                tell();
                answer.accept(() -> {
                    var knew = memory.revision();
                    var next = request.written(revision, written, clock());
                    if (memory.revision() < knew && !fell) {
                        violation = name + " knew of revision " + knew + ", and goes back to its own write, "
                                + memory.revision();
                    }
                    return next;
                });
            } else {
                answer.accept(() -> request.outdated(-1 - revision, clock()));
            }
        }

        /** Who looks on must not see another leader at each renewal. */
        private void checkSince(SeatRecord written) {
            if (written.kind() == SeatRecord.Kind.HELD) {
                var granted = grantedAt.computeIfAbsent(written.nonce(), absent -> Instant.ofEpochMilli(now / MILLI));
                if (written.since() != null && !written.since().equals(granted)) {
                    violation = written.candidate() + " leads since " + granted + ", and says since " + written.since();
                }
            }
        }

        // ------------------------------------------------------------ claiming

        private void claimIn(long nanos) {
            waiting = true;
            var mine = ++attempt;
            after(nanos, () -> {
                if (mine == attempt && !holding) {
                    claim(mine);
                }
            });
        }

        private void claim(int mine) {
            waiting = false;
            var sent = clock();
            var nonce = name.replace("'", "") + "-" + ++claims + (setting.freshNonces ? "." + chance() : ".x");
            var asked = new Claim(ELECTION, "c" + place, nonce, lease, lease, 0, Map.of());
            claim = asked;
            after(lease.toNanos() / 2, () -> {
                if (mine == attempt && !holding && !waiting) {
                    resolve(mine, asked, sent);
                }
            });
            perform(
                    new ClaimRequest(memory, SeatSimulation.this::chance, asked, claims == 1),
                    null,
                    (answer, error) -> {
                        if (mine != attempt) {
                            if (answer != null && answer.granted()) {
                                release(asked);
                            }
                        } else if (answer == null) {
                            resolve(mine, asked, sent);
                        } else if (answer.granted() || answer.view().heldUnder(nonce)) {
                            won(answer.view(), sent);
                        } else {
                            refused(answer.view());
                        }
                    });
        }

        private void resolve(int mine, Claim asked, long sent) {
            perform(new LookRequest(memory), null, (known, error) -> {
                if (mine != attempt || holding || waiting) {
                    return;
                }
                var view = known == null ? null : memory.view(known, clock(), 0);
                if (view != null && view.heldUnder(asked.nonce())) {
                    won(view, sent);
                } else if (random.nextBoolean()) {
                    claimIn(between(100, 1_000)); // and whatever is still under way is given up
                } else {
                    release(asked);
                    claimIn(between(100, 1_000));
                }
            });
        }

        private void refused(View view) {
            var ours = view.holder().filter(holder -> holder.nonce().startsWith(name.replace("'", "")));
            if (ours.isPresent()) {
                release(new Claim(ELECTION, "c" + place, ours.get().nonce(), lease, lease, 0, Map.of()));
                claimIn(between(100, 1_000));
            } else {
                claimIn(
                        view.remaining().isZero()
                                ? between(100, 1_000)
                                : view.remaining().toNanos() + MILLI);
            }
        }

        private void won(View view, long sent) {
            attempt++;
            holding = true;
            token = view.token();
            deadline = sent + (long) (lease.toNanos() * (1 - DRIFT_BOUND));
            proven(sent);
            terms++;
            var nonce = claim == null ? "" : claim.nonce();
            var first = grants.add(nonce);
            // times are above all that was lost; and what is there hands on what is added to counts
            var counts = !fell || (!excused && (timed || !(vanishes || deletes)));
            if (counts && first && copiedAt == Long.MIN_VALUE && leads()) {
                if (tokens.stream().anyMatch(other -> other >= token)) {
                    violation = "token " + token + " after "
                            + tokens.stream().max(Long::compare).orElse(0L);
                }
                tokens.add(token);
            }
            renewIn(lease.toNanos() / 3);
            watchDeadline();
            if (view.standDown() || view.ended()) {
                standDown();
            }
        }

        private void proven(long sent) {
            provenAt = sent;
            proof = memory.observed().map(known -> known.record().stamp()).orElse("");
            excused = sent <= copiedAt;
            checkProof();
        }

        private void checkProof() {
            excused |= holding && store.hasForgotten(proof);
        }

        private void heard(StoredRecord stored) {
            var before = memory.observed();
            memory.hear(stored, clock());
            var after = memory.observed();
            if (after.isEmpty() || (before.isPresent() && !after.get().isNewsAfter(before.get()))) {
                return;
            }
            var view = memory.view(after.get(), clock(), 0);
            if (waiting) {
                claimIn(view.holder().isEmpty() ? 0 : view.remaining().toNanos() + MILLI);
            } else if (holding && view.token() == token && (view.standDown() || view.ended())) {
                standDown();
            }
        }

        // ------------------------------------------------------------ holding

        private void renewIn(long nanos) {
            var held = token;
            after(nanos, () -> {
                if (holding && token == held && claim != null) {
                    renew(claim);
                }
            });
        }

        private void renew(Claim held) {
            if (!leads()) {
                lost();
                return;
            }
            var sent = clock();
            var under = token;
            renewIn(lease.toNanos() / 3);
            perform(
                    new RenewRequest(memory, SeatSimulation.this::chance, new Lease(held, under, lease)),
                    null,
                    (answer, error) -> {
                        if (!holding || token != under) {
                            return;
                        }
                        if (!leads()) {
                            lost();
                        } else if (answer != null && !answer.granted()) {
                            lost();
                        } else if (answer != null && sent > provenAt) {
                            deadline = sent + (long) (lease.toNanos() * (1 - DRIFT_BOUND));
                            proven(sent);
                            if (answer.view().standDown() || answer.view().ended()) {
                                standDown();
                            }
                        }
                    });
        }

        private void watchDeadline() {
            var held = token;
            var left = (long) ((deadline - clock()) / rate) + 1;
            after(Math.max(0, left), () -> {
                if (holding && token == held) {
                    if (leads()) {
                        watchDeadline();
                    } else {
                        lost();
                    }
                }
            });
        }

        private void lost() {
            holding = false;
            claimIn(between(0, 300));
        }

        /** The mandate ends; then the lease is cut short, maybe; then the seat is released. */
        private void standDown() {
            if (!holding || claim == null) {
                return;
            }
            holding = false;
            var given = claim;
            if (random.nextBoolean()) {
                var work = between(10, 400);
                perform(
                        new RenewRequest(
                                memory, SeatSimulation.this::chance, new Lease(given, token, Duration.ofNanos(work))),
                        null,
                        (answer, error) -> {});
                after(work, () -> release(given));
            } else {
                release(given);
            }
            claimIn(between(500, 3_000));
        }

        private void release(Claim given) {
            perform(
                    new ReleaseRequest(memory, SeatSimulation.this::chance, given, random.nextBoolean()),
                    null,
                    (Answer answer, RuntimeException error) -> {});
        }
    }

    /** Returns in how many of so many seeds something is found that must never be, and what in the first. */
    static String found(int seeds, Setting setting, LongSupplier first, boolean firstOnly) {
        var found = 0;
        var example = "";
        for (var seed = first.getAsLong(); seed < first.getAsLong() + seeds; seed++) {
            var violation = new SeatSimulation(seed, setting).run();
            if (violation.isPresent()) {
                example = found == 0 ? "seed " + seed + ": " + violation.get() : example;
                found++;
                if (firstOnly) {
                    return example;
                }
            }
        }
        return found == 0 ? "" : found + " of " + seeds + " seeds, the first being " + example;
    }
}
