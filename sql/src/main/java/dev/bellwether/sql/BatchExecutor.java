package dev.bellwether.sql;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Durations;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves requests over one connection, those of a kind together, and does by itself what comes round: polls, and gives
 * signs of the candidates.
 *
 * <p>Confined to the queue's thread, except what stands under "any thread".
 */
final class BatchExecutor {
    /*
     * Renewals go first, since leases run out; the others keep their order, since a release that overtook its claim
     * would leave the seat taken. What nobody waits for any more is not sent. After one request found the database out
     * of reach, the rest of the batch is not tried: their askers have their own ideas of when to try again.
     */
    private static final Logger log = LoggerFactory.getLogger(BatchExecutor.class);
    /** So many at once of a kind, and of what comes round: renewals must not wait for more. */
    static final int LARGEST_GROUP = 500;

    private static final Duration PATIENCE = Request.OPERATOR_PATIENCE;
    private static final long STARVED_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long ORDER_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(25);
    private static final long LONGEST_WAIT_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** What may have been missed is read as soon as this, however rarely somebody wants to poll. */
    private static final long CATCH_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Source source;
    private final SeatTable seats;
    private final WatchRegistry watches;
    private final SqlErrors faults;
    private final SqlConnection session;
    private final PresenceSchedule presences = new PresenceSchedule();
    private final long pollNanos;
    private final Echo echo = new Echo();
    private final Consumer<Boolean> onLook;
    /** Those who leave: before anything else is done they give no sign any more, whatever becomes of their releases. */
    private final Queue<Claim> leaving = new ConcurrentLinkedQueue<>();
    /** Those whose releases were never sent. */
    private final Queue<Claim> unreleased = new ConcurrentLinkedQueue<>();

    private final List<Request<?>> postponed = new ArrayList<>();
    private final Set<String> malformed = new HashSet<>(); // of which a person was told
    /** Elections whose last claim met a lock, the one that has met its lock last behind the others. */
    private final Set<String> lockedOut = new LinkedHashSet<>();

    /** Whether a claim of this batch has waited for a place that somebody has locked. */
    private boolean waited;
    /** Those of this batch that were put back once. */
    private final Set<Request<?>> putBack = Collections.newSetFromMap(new IdentityHashMap<>());
    /** Those of this batch that are to be put back. */
    private final Set<Request<?>> later = Collections.newSetFromMap(new IdentityHashMap<>());

    private long nextOrderNanos;
    private volatile boolean listening;
    private volatile boolean missed; // announcements, while nobody listened
    private long polledNanos;

    /** Tells {@code onLook} again and again whether what it announced has not been heard here. */
    BatchExecutor(
            Source source,
            SeatTable seats,
            WatchRegistry watches,
            SqlErrors faults,
            Duration poll,
            Consumer<Boolean> onLook) {
        this.source = source;
        this.seats = seats;
        this.watches = watches;
        this.faults = faults;
        session = new SqlConnection(source);
        pollNanos = poll.toNanos();
        polledNanos = System.nanoTime() - pollNanos;
        this.onLook = onLook;
    }

    // ---------------------------------------------------------------- any thread

    /** Ends whatever is waited for. */
    void abort() {
        session.abort();
    }

    /** Notes whether what is announced arrives here, so that there is no need to poll. */
    void listening(boolean listening) {
        this.listening = listening;
        echo.listening(listening);
        missed = true;
    }

    /** Notes that something that was announced here has been heard here. */
    void echo() {
        echo.heard();
    }

    /** Notes that something may have changed of which nobody here was told. */
    void missed() {
        missed = true;
    }

    /** Returns whether a connection has been waited for so long that somebody else should give up one. */
    boolean starves() {
        return session.isStarved(STARVED_NANOS);
    }

    /** Gives no further sign of this candidate. */
    void leaves(Claim claim) {
        leaving.add(claim);
    }

    /**
     * Notes that this will never be sent: one that has left is struck off, unless a claim that was submitted later
     * lists it again. So call it before such a claim can be served.
     */
    void unsent(Request<?> request) {
        if (request instanceof Request.Release release) {
            unreleased.add(release.claim());
        }
    }

    /** What to tell anybody whose request was not sent while somebody waited for it. */
    UnavailableException tooLate(Request<?> request) {
        return new UnavailableException(
                source + " was busy: the request was not sent within " + Durations.show(request.patience()));
    }

    // ---------------------------------------------------------------- what comes round

    long nextLookNanos() {
        var next = System.nanoTime() + LONGEST_WAIT_NANOS;
        if ((missed || !listening) && !watches.isEmpty() && nextPollNanos() - next < 0) {
            next = nextPollNanos();
        }
        if (!postponed.isEmpty() && nextOrderNanos - next < 0) {
            next = nextOrderNanos;
        }
        return presences.earliest(echo.earliest(next));
    }

    void lookAround() {
        var now = System.nanoTime();
        noteLeaving();
        onLook.accept(echo.isMissed(now));
        if (!postponed.isEmpty() && now - nextOrderNanos >= 0) {
            tryPostponed();
        }
        if ((missed || !listening) && now - nextPollNanos() >= 0) {
            missed = false;
            poll();
            polledNanos = System.nanoTime();
        }
        var due = presences.due(now);
        if (!due.isEmpty()) {
            giveSigns(due, now);
        }
        var departed = presences.departed(now);
        if (!departed.isEmpty()) {
            strikeOff(departed, now);
        }
    }

    private void tryPostponed() {
        var again = List.copyOf(postponed);
        postponed.clear();
        try {
            again.forEach(command -> serve(List.of(command), null));
        } catch (Error e) { // they are of no batch, so nobody else tells who waits for them
            postponed.clear();
            fail(again, e);
            throw e;
        }
    }

    private long nextPollNanos() {
        return polledNanos + (missed ? Math.min(pollNanos, CATCH_UP_NANOS) : pollNanos);
    }

    private void poll() {
        var elections = watches.elections();
        if (elections.isEmpty()) {
            return;
        }
        try {
            var rows = ask(connection -> seats.read(connection, elections));
            rows.values().forEach(row -> watches.tellIfNews(row, pollNanos));
        } catch (SQLException | RuntimeException e) { // or what comes round would be due again at once
            log.debug("could not read the changes on {}: {}", source, source.redact(String.valueOf(e.getMessage())));
            missed = true;
        }
    }

    private void giveSigns(List<Claim> due, long nowNanos) {
        try {
            enrol(PATIENCE, due, nowNanos);
            use(PATIENCE, connection -> {
                seats.forget(connection);
                return true;
            });
        } catch (SQLException | RuntimeException e) {
            log.debug(
                    "could not renew the list of standbys on {}:" + " {}",
                    source,
                    source.redact(String.valueOf(e.getMessage())));
            var again = System.nanoTime() + PATIENCE.toNanos();
            for (var some = due; !some.isEmpty(); some = presences.due(nowNanos)) { // nor is it time for the others
                some.forEach(claim -> presences.next(claim, again));
            }
        }
    }

    /** Their releases have failed, and are not sent again. */
    private void strikeOff(List<Claim> departed, long nowNanos) {
        try {
            use(PATIENCE, connection -> {
                seats.strike(connection, departed);
                return true;
            });
            departed.forEach(presences::struck);
        } catch (SQLException | RuntimeException e) {
            log.debug(
                    "candidates that have left {} are listed for a while: {}",
                    source,
                    source.redact(String.valueOf(e.getMessage())));
            for (var some = departed; !some.isEmpty(); some = presences.departed(nowNanos)) { // all are due later
                some.forEach(claim -> presences.forget(claim, seats.presence(claim), nowNanos));
            }
        }
    }

    private void enrol(Duration patience, List<Claim> claims, long nowNanos) throws SQLException {
        use(patience, connection -> {
            seats.enrol(connection, claims);
            return true;
        });
        claims.forEach(claim -> presences.next(
                claim, nowNanos + seats.presence(claim).dividedBy(2).toNanos()));
    }

    // ---------------------------------------------------------------- requests

    /**
     * Serves them. Once a claim has waited for a place that somebody has locked, renewals come first again: returns the
     * requests that are to be served behind those, in their order.
     */
    List<RequestQueue.Queued> serve(List<RequestQueue.Queued> batch) {
        noteLeaving();
        waited = false;
        putBack.clear();
        later.clear();
        batch.stream()
                .filter(RequestQueue.Queued::again)
                .map(RequestQueue.Queued::request)
                .forEach(putBack::add);
        UnavailableException outOfReach = null;
        for (var group : groups(batch)) {
            for (var part : apart(group)) {
                outOfReach = serve(inTime(part), outOfReach);
            }
        }
        return batch.stream().filter(queued -> later.contains(queued.request())).toList();
    }

    /** Returns those of some of a kind that are to be served now, after all that has been waited for. */
    private List<Request<?>> inTime(List<Request<?>> part) {
        if (!waited) {
            return part;
        }
        if (lockedOut.contains(part.get(0).election()) && part.get(0) instanceof Request.Acquire) {
            fail(part, busy()); // or the others would wait for each of them
            return List.of();
        }
        return putOff(part);
    }

    /**
     * Has some of a kind served later, behind the renewals, but each once only: returns those for which it is the
     * second time, and fails the claims among them, which may have to wait.
     */
    private List<Request<?>> putOff(List<Request<?>> part) {
        var second = part.stream().filter(putBack::contains).collect(Collectors.<Request<?>>toUnmodifiableList());
        part.stream().filter(request -> !putBack.contains(request)).forEach(later::add);
        if (!second.isEmpty() && second.get(0) instanceof Request.Acquire) {
            fail(second, busy());
            return List.of();
        }
        return second;
    }

    private UnavailableException busy() {
        return new UnavailableException(source + " was busy with rows that others have locked");
    }

    /** Only between batches: all claims that came before are served by then, and none that came later. */
    private void noteLeaving() {
        for (var claim = leaving.poll(); claim != null; claim = leaving.poll()) {
            presences.leave(claim);
        }
        for (var claim = unreleased.poll(); claim != null; claim = unreleased.poll()) {
            presences.unreleased(claim, System.nanoTime());
        }
    }

    /**
     * Does it over the connection; once more if the server has not done it at all: it has undone it for the sake of
     * another transaction, in a deadlock, or the session was over.
     */
    private <T> T use(Duration patience, SqlConnection.Work<T> work) throws SQLException {
        try {
            return session.use(patience, work);
        } catch (SQLException e) {
            if (!SqlErrors.isUndone(e) && !SqlErrors.isOfIdleSession(e)) {
                throw e;
            }
            log.debug("once more on {}: {}", source, source.redact(String.valueOf(e.getMessage())));
            return session.use(patience, work);
        }
    }

    /**
     * Asks what changes nothing; once more if the connection was broken, as that of an idle session which the server
     * has ended, or of a server that was started again.
     */
    private <T> T ask(SqlConnection.Work<T> question) throws SQLException {
        try {
            return use(PATIENCE, question);
        } catch (SQLException e) {
            if (!SqlErrors.isBreak(e)) {
                throw e;
            }
            return use(PATIENCE, question);
        }
    }

    /** Serves some of a kind, unless the database is out of reach. Returns the error if it is. */
    private @Nullable UnavailableException serve(List<Request<?>> group, @Nullable UnavailableException outOfReach) {
        if (group.isEmpty()) {
            return outOfReach;
        }
        if (outOfReach != null) {
            fail(group, outOfReach);
            return outOfReach;
        }
        try {
            serveUnlocked(group);
            return null;
        } catch (SQLException e) {
            if (SqlErrors.isOfOneRow(e)) {
                return serveEachAlone(group, e);
            }
            if (SqlErrors.isUndone(e)) {
                fail(
                        group,
                        new UnavailableException(source + " undid twice what was asked, for other transactions", e));
                return null; // for it answers
            }
            var meaning = faults.inOperation(e);
            log.debug("{}", meaning.getMessage());
            fail(group, meaning);
            return meaning instanceof UnavailableException unavailable ? unavailable : null;
        } catch (RuntimeException e) {
            return serveEachAlone(group, e);
        }
    }

    /**
     * A claim of a seat that has its place in an index locked fails the transaction that it is in, after a wait. Those
     * who claim the others must not suffer, nor those who renew: the others are served without it, but later.
     */
    private void serveUnlocked(List<Request<?>> group) throws SQLException {
        try {
            serveGroup(group);
        } catch (SeatTable.LockedRow e) {
            waited = true;
            lockedOut.remove(e.election());
            lockedOut.add(e.election());
            fail(about(group, e.election()::equals), new UnavailableException(String.valueOf(e.getMessage()), e));
            putOff(about(group, election -> !election.equals(e.election())));
        }
    }

    /**
     * A row that is not as we write it fails the statement that it is in. Anybody who asked for the others must not
     * suffer.
     */
    private @Nullable UnavailableException serveEachAlone(List<Request<?>> group, Exception error) {
        if (group.size() == 1) {
            var election = group.get(0).election();
            var message = "the row of \"" + election + "\" in " + source + " is not as Bellwether writes it (it said: "
                    + source.redact(String.valueOf(error.getMessage())).strip()
                    + "): nobody can be elected there until somebody repairs it";
            if (malformed.size() < LARGEST_GROUP && malformed.add(election)) {
                log.error(message, error);
            }
            fail(group, new UnavailableException(message, error));
            return null;
        }
        UnavailableException outOfReach = null;
        for (var request : group) {
            outOfReach = serve(inTime(List.of(request)), outOfReach);
        }
        return outOfReach;
    }

    private List<List<Request<?>>> groups(List<RequestQueue.Queued> batch) {
        var now = System.nanoTime();
        var renewals = new ArrayList<Request<?>>();
        var groups = new ArrayList<List<Request<?>>>();
        groups.add(renewals);
        for (var queued : batch) {
            if (queued.isStale(now)) {
                fail(queued.request(), tooLate(queued.request()));
            } else if (queued.request() instanceof Request.Renew renewal) {
                renewals.add(renewal);
            } else {
                var last = groups.get(groups.size() - 1);
                if (groups.size() == 1
                        || last.size() == LARGEST_GROUP
                        || last.get(0).getClass() != queued.request().getClass()) {
                    last = new ArrayList<>();
                    groups.add(last);
                }
                last.add(queued.request());
            }
        }
        if (renewals.isEmpty()) {
            groups.remove(0);
        }
        return groups;
    }

    /**
     * Claims that may meet a lock again go behind the others of their group, each alone: none must share the fate of
     * another.
     */
    private List<List<Request<?>>> apart(List<Request<?>> group) {
        if (lockedOut.isEmpty() || !(group.get(0) instanceof Request.Acquire)) {
            return List.of(group);
        }
        var others = about(group, election -> !lockedOut.contains(election));
        var known = lockedOut.stream().map(election -> about(group, election::equals));
        return Stream.concat(Stream.of(others), known)
                .filter(part -> !part.isEmpty())
                .toList();
    }

    private static List<Request<?>> about(List<Request<?>> group, Predicate<String> election) {
        return group.stream()
                .filter(request -> election.test(request.election()))
                .collect(Collectors.toUnmodifiableList());
    }

    private void serveGroup(List<Request<?>> group) throws SQLException {
        var first = group.get(0);
        if (first instanceof Request.Renew) {
            renew(only(group, Request.Renew.class));
        } else if (first instanceof Request.Acquire) {
            acquire(only(group, Request.Acquire.class));
        } else if (first instanceof Request.Release) {
            release(only(group, Request.Release.class));
        } else if (first instanceof Request.Look) {
            look(only(group, Request.Look.class));
        } else {
            for (var request : group) {
                serveOne(request);
            }
        }
    }

    private void serveOne(Request<?> request) throws SQLException {
        if (request instanceof Request.Read read) {
            read.answer().complete(ask(connection -> {
                var row = seats.read(connection, List.of(read.election()))
                        .getOrDefault(read.election(), SeatRow.unheld(read.election()));
                return row.view(seats.candidates(connection, row));
            }));
        } else if (request instanceof Request.Command command) {
            order(command);
        } else if (request instanceof Request.Note note) {
            note(note);
        } else if (request instanceof Request.Names names) {
            names.answer().complete(ask(seats::list));
        } else if (request instanceof Request.Probe probe) {
            probe.answer().complete(use(PATIENCE, seats::probe));
        }
    }

    /**
     * Carries out an order. A row that somebody else has locked at the moment is tried again, as long as somebody
     * waits.
     */
    private void order(Request.Command command) throws SQLException {
        againIfLocked(command, command.bornNanos(), () -> {
            var row = use(PATIENCE, connection -> seats.order(connection, command.election(), command.order()));
            row.ifPresent(watches::tell);
            command.answer().complete(row.isPresent());
        });
    }

    private void note(Request.Note note) throws SQLException {
        againIfLocked(note, note.bornNanos(), () -> {
            var row = use(
                    PATIENCE,
                    connection -> seats.note(connection, note.election(), note.token(), note.expected(), note.note()));
            row.ifPresent(watches::tell);
            note.answer().complete(row.isPresent());
        });
    }

    /** What is tried on a row. */
    private interface Attempt {
        void make() throws SQLException;
    }

    private void againIfLocked(Request<?> request, long bornNanos, Attempt attempt) throws SQLException {
        try {
            attempt.make();
        } catch (SQLException e) {
            var now = System.nanoTime();
            if (seats.isLocked(e) && now - bornNanos <= request.patience().toNanos()) {
                postponed.add(request);
                nextOrderNanos = now + ORDER_AGAIN_NANOS;
            } else if (e instanceof SeatTable.LockedRow locked) {
                fail(request, new UnavailableException(String.valueOf(locked.getMessage()), locked));
            } else {
                throw e;
            }
        }
    }

    private void look(List<Request.Look> looks) throws SQLException {
        var elections = looks.stream().map(Request.Look::election).distinct().toList();
        var rows = ask(connection -> seats.read(connection, elections));
        rows.values().forEach(row -> watches.tell(WatchRegistry.afterOthers(row)));
        looks.forEach(look -> look.answer().complete(true));
    }

    private void renew(List<Request.Renew> renewals) throws SQLException {
        for (var round : rounds(renewals, renewal -> renewal.lease().claim().election())) {
            var leases = round.stream().map(Request.Renew::lease).toList();
            var outcome = use(shortest(round), connection -> seats.renew(connection, leases));
            tell(outcome);
            round.forEach(renewal -> complete(
                    renewal.answer(), outcome.of(renewal.lease().claim().election())));
        }
    }

    private void release(List<Request.Release> releases) throws SQLException {
        for (var round : rounds(releases, release -> release.claim().election())) {
            var claims = round.stream().map(Request.Release::claim).toList();
            var outcome = use(shortest(round), connection -> seats.release(connection, claims));
            claims.forEach(presences::struck);
            claims.forEach(claim -> lockedOut.remove(claim.election()));
            tell(outcome);
            round.forEach(release -> {
                var judged = outcome.of(release.claim().election());
                if (judged.verdict() == SeatTable.Verdict.GRANTED) {
                    watches.learn(judged.row());
                }
                complete(release.answer(), judged);
            });
        }
    }

    /** Of those who claim the same seat at the same time, one is sent: the answer to it answers them all. */
    private void acquire(List<Request.Acquire> requests) throws SQLException {
        var now = System.nanoTime();
        var fresh = presences.due(requests.stream().map(Request.Acquire::claim).toList(), now);
        if (!fresh.isEmpty()) {
            enrol(shortest(requests), fresh, now); // before the answer, since anybody who was answered is listed
        }
        var sent = new LinkedHashMap<String, Request.Acquire>();
        requests.stream()
                .sorted(Comparator.comparingInt(request -> -request.claim().priority()))
                .forEach(request -> sent.putIfAbsent(request.claim().election(), request));
        var claims = sent.values().stream().map(Request.Acquire::claim).toList();
        var looks = sent.keySet().stream()
                .filter(election -> listening && watches.isToBeLookedAt(election))
                .collect(Collectors.toUnmodifiableSet());
        var outcome = use(shortest(requests), connection -> seats.acquire(connection, claims, looks));
        sent.keySet().stream()
                .filter(election -> !SeatTable.isFree(outcome.of(election).row())) // or it was only skipped
                .forEach(lockedOut::remove);
        tell(outcome);
        for (var request : requests) {
            var election = request.claim().election();
            var judged = outcome.of(election);
            if (judged.verdict() == SeatTable.Verdict.GRANTED && request.equals(sent.get(election))) {
                watches.learn(judged.row());
                complete(request.answer(), judged);
            } else {
                var row = listening && !looks.contains(election) ? WatchRegistry.staggered(judged.row()) : judged.row();
                watches.learn(row);
                complete(request.answer(), new SeatTable.Judged(SeatTable.Verdict.REFUSED, row));
            }
        }
    }

    void close() {
        fail(List.copyOf(postponed), new UnavailableException(source + " is closed"));
        session.close();
    }

    private void tell(SeatTable.Outcome outcome) {
        if (outcome.announced()) {
            echo.announced(System.nanoTime());
        }
        outcome.news().forEach(watches::tell);
    }

    // ---------------------------------------------------------------- small things

    private static void complete(CompletableFuture<Answer> answer, SeatTable.Judged judged) {
        switch (judged.verdict()) {
            case GRANTED -> answer.complete(new Answer(true, judged.row().view()));
            case REFUSED -> answer.complete(new Answer(false, judged.row().view()));
            case UNKNOWN ->
                answer.completeExceptionally(new UnavailableException("the row of \""
                        + judged.row().election() + "\" is locked by another transaction, perhaps under a guard"));
        }
    }

    void fail(List<? extends Request<?>> group, Throwable meaning) {
        group.forEach(request -> fail(request, meaning));
    }

    /** Tells one who has no answer yet. One that has left is struck off: a claim may have listed it again. */
    void fail(Request<?> request, Throwable meaning) {
        request.answer().completeExceptionally(meaning);
        if (request instanceof Request.Release release && release.answer().isCompletedExceptionally()) {
            presences.unreleased(release.claim(), System.nanoTime());
        }
    }

    private static <R> List<R> only(List<Request<?>> group, Class<R> kind) {
        return group.stream().map(kind::cast).toList();
    }

    /** However long a lease is: while its request hangs, all others wait. */
    private static Duration shortest(List<? extends Request<?>> requests) {
        return Stream.concat(Stream.of(PATIENCE), requests.stream().map(Request::patience))
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    /** Splits so that no election stands twice in one round. */
    private static <R> List<List<R>> rounds(List<R> requests, Function<R, String> election) {
        var rounds = new ArrayList<List<R>>();
        var counts = new HashMap<String, Integer>();
        for (var request : requests) {
            var round = counts.merge(election.apply(request), 1, Integer::sum) - 1;
            if (round == rounds.size()) {
                rounds.add(new ArrayList<>());
            }
            rounds.get(round).add(request);
        }
        return rounds;
    }
}
