package dev.bellwether.testkit;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Election;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * The clients, candidacies and auditor of one test, over one {@link Infrastructure}. Closing it heals, frees and closes
 * everything, and fails if two candidacies ever led at once.
 *
 * <p>Confined to the thread of the test, except {@link #closing}.
 */
public final class Stage implements AutoCloseable {
    /**
     * A lease is so many times the longest stall that this machine has lately shown. A renewal comes after a third of
     * it and has as long again, so another such stall costs no mandate.
     */
    private static final int STALLS = 4;
    /** So many fall into a lease that is to outlast the stalls of a busy machine. */
    private static final int RENEWALS = 10;

    private final Infrastructure infrastructure;
    private final Duration lease;
    private final String election;
    private final LeadershipAuditor auditor = new LeadershipAuditor();
    private final List<Elections> clients = new ArrayList<>();
    private final List<Actor> actors = new CopyOnWriteArrayList<>();
    private final Deque<Runnable> cleanups = new ArrayDeque<>();
    private final CompletableFuture<Void> closing = new CompletableFuture<>();
    private final AtomicLong serial = new AtomicLong();

    /** Makes a stage; the word makes the name of its election readable. */
    public Stage(Infrastructure infrastructure, String word) {
        this.infrastructure = infrastructure;
        lease = lease(infrastructure);
        election = word + '-' + UUID.randomUUID().toString().substring(0, 8);
    }

    /** As long as the infrastructure says, and longer on a machine that is busy; then in whole milliseconds. */
    private static Duration lease(Infrastructure infrastructure) {
        var stalled = LeadershipAuditor.stallNanos() * STALLS;
        var longest = infrastructure.longestLease().toNanos();
        var longer = Duration.ofMillis(Math.min(stalled, longest) / 1_000_000);
        return longer.compareTo(infrastructure.lease()) > 0 ? longer : infrastructure.lease();
    }

    /** Returns the infrastructure. */
    public Infrastructure infrastructure() {
        return infrastructure;
    }

    /** Returns the name of this test's election, which no other test uses. */
    public String election() {
        return election;
    }

    /** Returns the auditor. */
    public LeadershipAuditor auditor() {
        return auditor;
    }

    /**
     * Returns the lease that candidacies have unless told otherwise: that of the infrastructure, or a longer one where
     * this machine has just been seen to stall.
     */
    public Duration lease() {
        return lease;
    }

    /** Returns {@link Infrastructure#longLease}. */
    public Duration longLease() {
        return infrastructure.longLease();
    }

    /** Returns {@link Infrastructure#patience}, and more if the lease is longer than the infrastructure says. */
    public Duration patience() {
        return infrastructure
                .patience()
                .plus(lease.minus(infrastructure.lease()).multipliedBy(5));
    }

    /** Returns a future that completes when the stage is being closed: what a blocked listener should wait for. */
    public CompletableFuture<Void> closing() {
        return closing;
    }

    /** Does this when the stage is closed, before the clients are: what was added last is done first. */
    public void onClose(Runnable cleanup) {
        cleanups.push(cleanup);
    }

    // ---------------------------------------------------------------- clients

    /** Connects a client that waits for an answer as long as a test does. */
    public Elections client() {
        return client(ElectionsConfig.builder().requestTimeout(patience()).build());
    }

    /** Connects a client. */
    public Elections client(ElectionsConfig config) {
        return closedWithUs(infrastructure.connect(config));
    }

    /** Connects a client that can be cut off. */
    public Infrastructure.Linked linkedClient() {
        return linkedClient(ElectionsConfig.defaults());
    }

    /** Connects a client that can be cut off. */
    public Infrastructure.Linked linkedClient(ElectionsConfig config) {
        var linked = infrastructure.connectLinked(config);
        closedWithUs(linked.elections());
        onClose(linked.link()::heal); // who is cut off could not leave
        return linked;
    }

    private Elections closedWithUs(Elections elections) {
        clients.add(elections);
        return elections;
    }

    // ---------------------------------------------------------------- candidacies

    /** Stands for the election of this test under a new id, with the lease of the infrastructure. */
    public Actor stand(Elections client) {
        return stand(client, new EventLog(), settings -> settings);
    }

    /** Stands with the given log, and with settings of your own. */
    public Actor stand(Elections client, EventLog log, UnaryOperator<CandidacyConfig.Builder> settings) {
        return stand(client, election, log, settings);
    }

    /** Stands for another election. */
    public Actor stand(
            Elections client, String election, EventLog log, UnaryOperator<CandidacyConfig.Builder> settings) {
        var config = settings.apply(infrastructure.settings(lease()).candidate("c" + serial.incrementAndGet()))
                .listener(log)
                .build();
        var candidacy = client.stand(election, config);
        auditor.audit(candidacy);
        var actor = new Actor(candidacy, log, patience(), this::beyond);
        actors.add(actor);
        return actor;
    }

    /**
     * Returns which candidate this candidate follows, if it can be that there are more than one between a standby and
     * the leader.
     */
    private Optional<String> beyond(Optional<String> candidate) {
        return infrastructure.queues()
                ? actors.stream()
                        .filter(actor -> candidate.equals(Optional.of(actor.id())))
                        .findFirst()
                        .flatMap(actor -> actor.candidacy().status().following())
                : Optional.empty();
    }

    /**
     * Stands with a lease that no stall of a busy machine ends, and that a test can wait for: a quarter of the long
     * one.
     */
    public Actor standFirm(Elections client) {
        return standFirm(client, new EventLog());
    }

    /** Stands like that, with the given log. */
    public Actor standFirm(Elections client, EventLog log) {
        return stand(client, log, this::firm);
    }

    /** Sets the lease of who {@linkplain #standFirm stands firm}, and how often it is renewed. */
    CandidacyConfig.Builder firm(CandidacyConfig.Builder settings) {
        return settings.lease(firmLease()).renewInterval(firmLease().dividedBy(RENEWALS));
    }

    /** Returns the lease of who {@linkplain #standFirm stands firm}. */
    public Duration firmLease() {
        return longLease().dividedBy(4);
    }

    /**
     * Stands with the long lease, and a stand-down budget of more than half of it, so that a candidate that waits for
     * either cannot look like one that was handed the seat. What is left of the lease has several renewals.
     */
    public Actor standLong(Elections client) {
        return standLong(client, new EventLog(), settings -> settings);
    }

    /** Stands with the long lease, the given log, and settings of your own. */
    public Actor standLong(Elections client, EventLog log, UnaryOperator<CandidacyConfig.Builder> settings) {
        return stand(client, log, builder -> settings.apply(longSettings()));
    }

    /** Stands for another election with the long lease. */
    public Actor standLong(Elections client, String election, EventLog log) {
        return stand(client, election, log, builder -> longSettings());
    }

    private CandidacyConfig.Builder longSettings() {
        return infrastructure
                .settings(longLease())
                .candidate("c" + serial.incrementAndGet())
                .renewInterval(longLease().dividedBy(RENEWALS))
                .standDownBudget(longLease().multipliedBy(3).dividedBy(5));
    }

    /** Looks at this test's election from outside. */
    public Election observe(Elections client) {
        return client.election(election);
    }

    /** Waits for a condition, within the patience. */
    public void eventually(String what, BooleanSupplier condition) {
        Eventually.eventually(what, patience(), condition);
    }

    // ---------------------------------------------------------------- the end

    @Override
    public void close() {
        closing.complete(null);
        var failures = new ArrayDeque<Throwable>();
        while (!cleanups.isEmpty()) {
            attempt(cleanups.pop(), failures::addLast);
        }
        attempt(this::closeClients, failures::addLast);
        attempt(auditor::close, failures::addFirst); // what it has seen is told first
        attempt(infrastructure::close, failures::addLast);
        if (!failures.isEmpty()) {
            var first = failures.pop();
            failures.forEach(first::addSuppressed);
            if (first instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) first;
        }
    }

    /** Whatever fails, the auditor is asked. */
    private static void attempt(Runnable step, Consumer<Throwable> failed) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            failed.accept(e);
        }
    }

    private void closeClients() {
        CompletableFuture.allOf(clients.stream()
                        .map(client -> CompletableFuture.runAsync(client::close, task -> new Thread(task).start()))
                        .toArray(CompletableFuture[]::new))
                .join();
        if (auditor.longestRoundNanos() > lease().toNanos() / 4) {
            System.out.printf(
                    "note: this machine was busy: the auditor of %s did not run for %d ms%n",
                    election, auditor.longestRoundNanos() / 1_000_000);
        }
    }
}
