package dev.bellwether.sql;

import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves requests over one connection, those of a kind together, and does by himself what comes round: polls, and gives signs of
 * the candidates.
 *
 * <p>Confined to the desk's thread, except {@link #abort}, {@link #tooLate} and {@link #listening}.
 */
final class Clerk {
    /*
     * Renewals go first, since leases run out; the others keep their order, since a release that overtook its claim would leave
     * the seat taken. What nobody waits for any more is not sent. After one request found the database out of reach, the rest of
     * the batch is not tried: their askers have their own ideas of when to try again.
     */
    private static final Logger log = LoggerFactory.getLogger(Clerk.class);
    private static final int LARGEST_GROUP = 500;
    private static final Duration PATIENCE = Request.OPERATOR_PATIENCE;
    private static final long LONGEST_WAIT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Source source;
    private final Seats seats;
    private final Outlook outlook;
    private final Faults faults;
    private final Session session;
    private final Roll roll = new Roll();
    private final long pollNanos;
    private volatile boolean listening;
    private volatile boolean missed; // announcements, while nobody listened
    private long nextPollNanos = System.nanoTime();

    Clerk(Source source, Seats seats, Outlook outlook, Faults faults, Duration poll) {
        this.source = source;
        this.seats = seats;
        this.outlook = outlook;
        this.faults = faults;
        session = new Session(source);
        pollNanos = poll.toNanos();
    }

    // ---------------------------------------------------------------- any thread

    /** Ends whatever is waited for. */
    void abort() {
        session.abort();
    }

    /** Notes whether what is announced arrives here, so that there is no need to poll. */
    void listening(boolean listening) {
        this.listening = listening;
        missed = true;
    }

    void tooLate(Desk.Queued queued) {
        queued.request()
                .answer()
                .completeExceptionally(new UnavailableException(source + " kept us waiting: not sent within "
                        + queued.request().patience()));
    }

    // ---------------------------------------------------------------- what comes round

    long nextLookNanos() {
        var next = System.nanoTime() + LONGEST_WAIT_NANOS;
        if (missed || (!listening && !outlook.isEmpty() && nextPollNanos - next < 0)) {
            next = nextPollNanos;
        }
        return roll.earliest(next);
    }

    void lookAround() {
        var now = System.nanoTime();
        if (now - nextPollNanos >= 0 && (missed || !listening)) {
            missed = false;
            poll();
            nextPollNanos = System.nanoTime() + pollNanos;
        }
        var due = roll.due(now);
        if (!due.isEmpty()) {
            giveSigns(due, now);
        }
    }

    private void poll() {
        var elections = outlook.elections();
        if (elections.isEmpty()) {
            return;
        }
        try {
            var rows = session.use(PATIENCE, connection -> seats.read(connection, elections));
            rows.values().forEach(row -> outlook.tellIfNews(row, pollNanos));
        } catch (SQLException e) {
            log.debug("could not look for changes on {}: {}", source, source.redact(String.valueOf(e.getMessage())));
            missed = true;
        }
    }

    private void giveSigns(List<Claim> due, long nowNanos) {
        try {
            enrol(PATIENCE, due, nowNanos);
            session.use(PATIENCE, connection -> {
                seats.forget(connection);
                return true;
            });
        } catch (SQLException e) {
            log.debug("could not give signs on {}: {}", source, source.redact(String.valueOf(e.getMessage())));
            due.forEach(claim -> roll.next(claim, nowNanos + PATIENCE.toNanos()));
        }
    }

    private void enrol(Duration patience, List<Claim> claims, long nowNanos) throws SQLException {
        session.use(patience, connection -> {
            seats.enrol(connection, claims);
            return true;
        });
        claims.forEach(claim ->
                roll.next(claim, nowNanos + seats.presence(claim).dividedBy(2).toNanos()));
    }

    // ---------------------------------------------------------------- requests

    void serve(List<Desk.Queued> batch) {
        UnavailableException outOfReach = null;
        for (var group : groups(batch)) {
            if (outOfReach != null) {
                fail(group, outOfReach);
                continue;
            }
            try {
                serveGroup(group);
            } catch (SQLException e) {
                var meaning = faults.inOperation(e);
                log.debug("{}", meaning.getMessage());
                if (meaning instanceof UnavailableException unavailable) {
                    outOfReach = unavailable;
                }
                fail(group, meaning);
            }
        }
    }

    private List<List<Request<?>>> groups(List<Desk.Queued> batch) {
        var now = System.nanoTime();
        var renewals = new ArrayList<Request<?>>();
        var groups = new ArrayList<List<Request<?>>>();
        groups.add(renewals);
        for (var queued : batch) {
            if (queued.isStale(now)) {
                tooLate(queued);
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

    private void serveGroup(List<Request<?>> group) throws SQLException {
        var first = group.get(0);
        if (first instanceof Request.Renew) {
            renew(only(group, Request.Renew.class));
        } else if (first instanceof Request.Acquire) {
            acquire(only(group, Request.Acquire.class));
        } else if (first instanceof Request.Release) {
            release(only(group, Request.Release.class));
        } else {
            for (var request : group) {
                serveOne(request);
            }
        }
    }

    private void serveOne(Request<?> request) throws SQLException {
        if (request instanceof Request.Read read) {
            read.answer().complete(session.use(PATIENCE, connection -> {
                var row = seats.read(connection, List.of(read.election()))
                        .getOrDefault(read.election(), Row.unheld(read.election()));
                return row.view(seats.candidates(connection, row));
            }));
        } else if (request instanceof Request.Command command) {
            var row = session.use(PATIENCE, connection -> seats.order(connection, command.election(), command.order()));
            row.ifPresent(outlook::tell);
            command.answer().complete(row.isPresent());
        } else if (request instanceof Request.Names names) {
            names.answer().complete(session.use(PATIENCE, seats::list));
        } else if (request instanceof Request.Look look) {
            var rows = session.use(PATIENCE, connection -> seats.read(connection, List.of(look.election())));
            rows.values().forEach(row -> outlook.tell(Outlook.afterOthers(row)));
            look.answer().complete(true);
        } else if (request instanceof Request.Probe probe) {
            session.use(PATIENCE, connection -> {
                seats.probe(connection);
                return true;
            });
            probe.answer().complete(true);
        }
    }

    private void renew(List<Request.Renew> renewals) throws SQLException {
        for (var round : rounds(renewals, renewal -> renewal.lease().claim().election())) {
            var leases = round.stream().map(Request.Renew::lease).toList();
            var outcome = session.use(shortest(round), connection -> seats.renew(connection, leases));
            outcome.news().forEach(outlook::tell);
            round.forEach(renewal -> complete(
                    renewal.answer(), outcome.of(renewal.lease().claim().election())));
        }
    }

    private void release(List<Request.Release> releases) throws SQLException {
        releases.forEach(release -> roll.strike(release.claim()));
        for (var round : rounds(releases, release -> release.claim().election())) {
            var claims = round.stream().map(Request.Release::claim).toList();
            var outcome = session.use(shortest(round), connection -> seats.release(connection, claims));
            outcome.news().forEach(outlook::tell);
            round.forEach(release ->
                    complete(release.answer(), outcome.of(release.claim().election())));
        }
    }

    /** Of those who claim the same seat at the same time, one is sent: the answer to it answers them all. */
    private void acquire(List<Request.Acquire> requests) throws SQLException {
        var now = System.nanoTime();
        var fresh = roll.due(requests.stream().map(Request.Acquire::claim).toList(), now);
        if (!fresh.isEmpty()) {
            enrol(shortest(requests), fresh, now); // before the answer, since whoever was answered is listed
        }
        var sent = new LinkedHashMap<String, Request.Acquire>();
        requests.stream()
                .sorted(Comparator.comparingInt(request -> -request.claim().priority()))
                .forEach(request -> sent.putIfAbsent(request.claim().election(), request));
        var claims = sent.values().stream().map(Request.Acquire::claim).toList();
        var looks = sent.keySet().stream()
                .filter(election -> listening && outlook.isToBeLookedAt(election))
                .collect(Collectors.toUnmodifiableSet());
        var outcome = session.use(shortest(requests), connection -> seats.acquire(connection, claims, looks));
        outcome.news().forEach(outlook::tell);
        for (var request : requests) {
            var election = request.claim().election();
            var judged = outcome.of(election);
            if (judged.verdict() == Seats.Verdict.GRANTED && request.equals(sent.get(election))) {
                complete(request.answer(), judged);
            } else {
                var row = listening && !looks.contains(election) ? Outlook.staggered(judged.row()) : judged.row();
                outlook.note(row);
                complete(request.answer(), new Seats.Judged(Seats.Verdict.REFUSED, row));
            }
        }
    }

    void close() {
        session.close();
    }

    // ---------------------------------------------------------------- small things

    private static void complete(CompletableFuture<Answer> answer, Seats.Judged judged) {
        switch (judged.verdict()) {
            case GRANTED -> answer.complete(new Answer(true, judged.row().view()));
            case REFUSED -> answer.complete(new Answer(false, judged.row().view()));
            case UNKNOWN ->
                answer.completeExceptionally(new UnavailableException("the row of \""
                        + judged.row().election() + "\" is locked by somebody else, who may be under guard"));
        }
    }

    private static void fail(List<Request<?>> group, Exception meaning) {
        group.forEach(request -> request.answer().completeExceptionally(meaning));
    }

    private static <R> List<R> only(List<Request<?>> group, Class<R> kind) {
        return group.stream().map(kind::cast).toList();
    }

    private static Duration shortest(List<? extends Request<?>> requests) {
        return requests.stream()
                .map(Request::patience)
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
