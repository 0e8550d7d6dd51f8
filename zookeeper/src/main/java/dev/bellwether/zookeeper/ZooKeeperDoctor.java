package dev.bellwether.zookeeper;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Causes;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.Finding.Term;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;

/** What is so with an ensemble and what follows for elections. Confined to one thread; waits for answers. */
final class ZooKeeperDoctor {
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final String ENSEMBLE = "/zookeeper/config";

    private final SeatSession session;
    private final CandidacyConfig config;
    private final Duration tick;
    private final List<Finding> findings = new ArrayList<>();

    private ZooKeeperDoctor(SeatSession session, CandidacyConfig config, Duration tick) {
        this.session = session;
        this.config = config;
        this.tick = tick;
    }

    /**
     * Looks.
     *
     * @param session which a candidacy with these settings would have
     * @param root below which elections are
     * @param tick of the servers
     */
    static List<Finding> of(SeatSession session, CandidacyConfig config, String root, Duration tick) {
        var checkup = new ZooKeeperDoctor(session, config, tick);
        if (!session.awaitConnected(PATIENCE)) {
            throw new UnavailableException("no answer from " + session.where() + " within " + Durations.show(PATIENCE));
        }
        checkup.session();
        checkup.proof();
        checkup.servers();
        checkup.ensemble();
        checkup.rights(root);
        return checkup.findings;
    }

    private void session() {
        var timeout = session.client().timeout();
        var refusal = session.refusal(config);
        if (refusal.isPresent()) {
            findings.add(Finding.error(
                    "session",
                    String.valueOf(refusal.get().getMessage()),
                    "lower the lease, or raise maxSessionTimeout on the servers"));
        } else if (timeout.compareTo(Client.timeoutFor(config.lease())) > 0) {
            findings.add(Finding.warning(
                    "session",
                    "a session lives for " + timeout.toMillis()
                            + " ms at least, so that a crash costs that and not the lease of "
                            + config.lease().toMillis() + " ms",
                    session.isOurs()
                            ? "lower minSessionTimeout on the servers, or tickTime on all of them and here"
                            : "give the CuratorFramework a shorter session timeout"));
        } else {
            findings.add(Finding.ok("session", "its timeout is the lease, " + timeout.toMillis() + " ms"));
        }
        findings.addAll(Finding.vacancies(
                List.of(new Term("session", timeout), new Term("tick", tick)), List.of(Term.standDown(config))));
        findings.add(Finding.ok("clock", "sessions go by the clock of the ensemble's leader: no date matters"));
    }

    /** Whether proofs come round in time, if the tick is what we are told. */
    private void proof() {
        try {
            await(session.prover().learnHops());
        } catch (ExecutionException e) {
            throw ZooKeeperErrors.translated(Causes.unwrapped(e), session.where());
        }
        var prover = session.prover();
        var tooShort = prover.tooShort(config);
        if (tooShort.isPresent()) {
            findings.add(Finding.error(
                    "proof",
                    String.valueOf(tooShort.get().getMessage()),
                    "make the lease longer, or set tickTime to the longest of any server"));
        } else {
            findings.add(Finding.ok(
                    "proof",
                    "a proof of leadership is up to " + prover.renewal(config).toMillis()
                            + " ms old when the next one comes, if no server has a tickTime above " + tick.toMillis()
                            + " ms" + (prover.hops() > 1 ? "; there are observers, so that it takes two hops" : "")));
        }
    }

    /**
     * Asks each server by itself for a session as long as the lease: one that grants less ends a session sooner that
     * moves there, and if its answer does not reach us, sooner than we know.
     */
    private void servers() {
        var lease = config.lease();
        var granted = new TreeMap<String, Duration>();
        var silent = new ArrayList<String>();
        for (var address : session.client().addresses()) {
            session.client()
                    .granted(address, lease, PATIENCE)
                    .ifPresentOrElse(length -> granted.put(address, length), () -> silent.add(address));
        }
        var less = granted.entrySet().stream()
                .filter(one -> one.getValue().toMillis() < lease.toMillis())
                .map(one -> one.getKey() + " (" + one.getValue().toMillis() + " ms)")
                .toList();
        if (!less.isEmpty()) {
            findings.add(Finding.error(
                    "servers",
                    "not all servers grant sessions of " + lease.toMillis() + " ms: " + String.join(", ", less)
                            + "; if a session moves there and the answer is lost, two may lead",
                    "make maxSessionTimeout the same on all servers, and no shorter than the lease"));
        } else if (!silent.isEmpty()) {
            findings.add(Finding.warning(
                    "servers",
                    "no answer from " + String.join(", ", silent) + " within " + PATIENCE.toSeconds()
                            + " s, so it is not known whether sessions of " + lease.toMillis()
                            + " ms are granted there",
                    "make sure that its maxSessionTimeout is that of the others"));
        } else {
            findings.add(Finding.ok("servers", "each server grants sessions of " + lease.toMillis() + " ms"));
        }
    }

    /** What the ensemble says of itself; one that stands alone says nothing. */
    private void ensemble() {
        try {
            var voters = Ensemble.voters(await(session.requests().ensemble()));
            if (voters <= 1) {
                findings.add(Finding.warning(
                        "replication",
                        "there is one server: while it is down nobody leads, and its disk alone holds the tokens",
                        "run three, on three machines"));
            } else if (voters % 2 == 0) {
                findings.add(Finding.warning(
                        "replication",
                        voters + " servers vote, which tolerate no more failures than one less",
                        "add one, or remove one"));
            } else {
                findings.add(Finding.ok(
                        "replication", voters + " servers vote: " + voters / 2 + " of them may be down at a time"));
            }
        } catch (ExecutionException e) {
            findings.add(Finding.warning(
                    "replication",
                    "who is in the ensemble cannot be read: " + ZooKeeperErrors.code(answer(e)),
                    "let us read " + ENSEMBLE + " of the servers, or see there yourself"));
        }
        findings.add(Finding.ok("durability", "what a majority has written to its logs is not lost"));
    }

    /** Asks to make a node, together with something impossible: nothing comes of it but the answer. */
    private void rights(String root) {
        var above = existing(session.client().full(root));
        var child = (above.equals("/") ? "" : above) + "/bellwether-doctor";
        try {
            await(session.requests()
                    .all(List.of(
                            session.client().creation(CreateMode.EPHEMERAL, child, ""),
                            Op.check(child + "/impossible", 0))));
            throw new IllegalStateException("something impossible was done");
        } catch (ExecutionException e) {
            findings.add(rights(above, answer(e)));
        }
    }

    /** Only if nothing but the impossible was refused may we do the rest. */
    private Finding rights(String above, Throwable error) {
        var code = ZooKeeperErrors.code(error);
        if (code == Code.NOAUTH) {
            return Finding.error(
                    "rights",
                    "we may not create nodes below " + above,
                    "allow us to create and delete there, for example by setAcl, or connect as a user who may");
        }
        if (error instanceof RefusedTransaction refused && refused.failed() == 1) {
            return Finding.ok("rights", "we may create nodes below " + above);
        }
        return code == Code.NONODE && above.equals("/")
                ? Finding.error(
                        "rights",
                        "the chroot in the connect string does not exist, so nobody can stand",
                        "create that node, or correct the connect string")
                : Finding.error(
                        "rights",
                        "we cannot create nodes below " + above + ": "
                                + ZooKeeperErrors.translated(error, session.where())
                                        .getMessage(),
                        "correct that; nobody can stand before");
    }

    /** Returns the path, or the nearest above it that exists. */
    private String existing(String path) {
        var at = path;
        while (!at.equals("/") && isMissing(at)) {
            at = at.lastIndexOf('/') <= 0 ? "/" : at.substring(0, at.lastIndexOf('/'));
        }
        return at;
    }

    private boolean isMissing(String path) {
        try {
            return await(session.requests().exists(path, null)).isEmpty();
        } catch (ExecutionException e) {
            if (ZooKeeperErrors.code(Causes.unwrapped(e)) == Code.NOAUTH) {
                return false; // of what is not there, nobody is refused an answer
            }
            throw ZooKeeperErrors.translated(Causes.unwrapped(e), session.where());
        }
    }

    private <T> T await(CompletableFuture<T> answer) throws ExecutionException {
        try {
            return answer.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new UnavailableException(
                    "no answer from " + session.where() + " within " + Durations.show(PATIENCE), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted while asking " + session.where(), e);
        }
    }

    /** Returns what the servers have answered; throws if they have not, which nobody can put right for us. */
    private Throwable answer(ExecutionException e) {
        var error = Causes.unwrapped(e);
        if (ZooKeeperErrors.isUnanswered(error)) {
            throw ZooKeeperErrors.translated(error, session.where());
        }
        return error;
    }
}
