package dev.bellwether.spring;

import dev.bellwether.Candidacy;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.context.ApplicationEventPublisher;

/**
 * The candidacies of this application: in every election that is declared by a property or named by {@link LeaderOnly}.
 *
 * <p>Thread-safe. There are none before the context has started, and after it has stopped.
 */
public final class Candidacies {
    private static final Logger log = LoggerFactory.getLogger(Candidacies.class);

    private final Elections elections;
    private final BellwetherProperties properties;
    private final NamedElections named;
    private final ListableBeanFactory beans;
    private final ApplicationEventPublisher publisher;
    private final Optional<Candidacies> above;
    private final Consumer<String> onStanding;
    private final Map<String, Leadership> leaderships = new ConcurrentSkipListMap<>(); // written under the lock of this
    private final Map<String, Leadership> latest = new ConcurrentHashMap<>(); // of contexts that have stopped, too
    private final Map<String, Throwable> unstood = new ConcurrentSkipListMap<>(); // named late, and why we do not stand
    private final AtomicBoolean handingOver = new AtomicBoolean();
    private volatile @Nullable Set<String> ofBeans; // found when first asked for: that takes long
    private volatile boolean running;

    Candidacies(
            Elections elections,
            BellwetherProperties properties,
            NamedElections named,
            ListableBeanFactory beans,
            ApplicationEventPublisher publisher,
            Optional<Candidacies> above,
            Consumer<String> onStanding) {
        this.elections = elections;
        this.properties = properties;
        this.named = named;
        this.beans = beans;
        this.publisher = publisher;
        this.above = above;
        this.onStanding = onStanding;
        properties.requireTimeToGetReady(); // told at the start, and not when the seat is to be handed over
    }

    /**
     * Returns the candidacy in an election.
     *
     * @throws IllegalStateException if there is none, because the context has not started or has stopped, or nothing
     *     names the election
     */
    public Candidacy of(String election) {
        return find(election)
                .orElseThrow(() -> new IllegalStateException("this application does not stand for \"" + election
                        + "\": it does so while its context runs, if a property bellwether.elections." + election
                        + ".… declares it or @LeaderOnly names it"));
    }

    /** Returns all candidacies, in order of the names of their elections. */
    public List<Candidacy> all() {
        return leaderships.values().stream()
                .flatMap(leadership -> leadership.candidacy().stream())
                .toList();
    }

    /** Returns whether this process leads an election: false, too, where it does not stand. */
    public boolean isLeader(String election) {
        return find(election).map(Candidacy::isLeader).orElse(false);
    }

    private Optional<Candidacy> find(String election) {
        return Optional.ofNullable(leaderships.get(election)).flatMap(Leadership::candidacy);
    }

    /** Returns the elections that were named late and in which this process could not stand, and why. */
    Map<String, Throwable> unstood() {
        var all = new TreeMap<>(unstood);
        all.keySet().removeAll(leaderships.keySet());
        return all;
    }

    Map<String, Leadership> leaderships() {
        return leaderships;
    }

    /**
     * Returns the election's leadership, for a call that must run under it: of a bean that was made late, too. When the
     * context has stopped, it is the former one, which knows whether its beans may be what calls.
     */
    Optional<Leadership> leadership(String election) {
        if (running && !leaderships.containsKey(election)) {
            standLate(election);
        }
        return Optional.ofNullable(latest.get(election));
    }

    /** Stands in an election that was not named when we started. If that fails, the next call tries again. */
    private void standLate(String election) {
        try {
            enterLate(election);
            unstood.remove(election);
        } catch (RuntimeException | Error e) {
            unstood.put(election, e);
            throw e;
        }
    }

    private void enterLate(String election) {
        refuseTwice(Set.of(election));
        Leadership former;
        Leadership entered;
        synchronized (this) {
            former = latest.get(election);
            if (!enter(election)) {
                return;
            }
            entered = Objects.requireNonNull(latest.get(election));
        }
        try {
            stand(election);
        } catch (RuntimeException | Error e) {
            withdraw(election, entered, former);
            throw e;
        }
    }

    /** Takes back what was entered, unless the context has stopped meanwhile. */
    private synchronized void withdraw(String election, Leadership entered, @Nullable Leadership former) {
        if (leaderships.remove(election, entered)) {
            if (former == null) {
                latest.remove(election);
            } else {
                latest.put(election, former);
            }
        }
    }

    /** The context starts: if it does so again, it starts all beans, whether or not we lead. */
    void starting() {
        latest.values().forEach(Leadership::starting);
    }

    /** Stands in all elections that anything names. */
    void start() {
        refuseTwice(expected());
        var entered = new ArrayList<Entered>();
        synchronized (this) { // all at once: a thread of a bean that must stop first does not enter one that it calls
            running = true;
            handingOver.set(false);
            for (var election : expected()) {
                var former = latest.get(election);
                if (enter(election)) {
                    entered.add(new Entered(election, Objects.requireNonNull(latest.get(election)), former));
                }
            }
        }
        Throwable failure = null;
        for (var each : entered) {
            try {
                stand(each.election());
            } catch (RuntimeException | Error e) {
                withdraw(each.election(), each.leadership(), each.former());
                failure = failure == null ? e : failure; // the others stand first
            }
        }
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure != null) {
            throw (RuntimeException) failure;
        }
    }

    /** Two candidacies of one process would take the seat from each other: what asks the other never runs. */
    private void refuseTwice(Set<String> coming) {
        for (var other = above; other.isPresent(); other = other.get().above) {
            var both = new TreeSet<>(coming);
            both.retainAll(other.get().expected());
            if (!both.isEmpty()) {
                throw new IllegalStateException("this context and its parent would both stand in " + both
                        + ", and only one of them can lead: set bellwether.enabled=false for one of the two, or name"
                        + " an election in one only");
            }
        }
    }

    /** Where calls find the leadership already, and we are to stand. */
    private record Entered(
            String election,
            Leadership leadership,
            @Nullable Leadership former) {}

    /** Returns all elections that anything names, whether or not this process stands in them now. */
    Set<String> expected() {
        var all = new TreeSet<>(leaderships.keySet());
        all.addAll(properties.getElections().keySet());
        all.addAll(named.all());
        all.addAll(electionsOfBeans());
        return all;
    }

    private Set<String> electionsOfBeans() {
        var known = ofBeans;
        if (known == null) {
            known = Stream.of(beans.getBeanNamesForAnnotation(LeaderOnly.class))
                    .map(bean -> LedBeans.electionOf(bean, beans))
                    .collect(Collectors.toUnmodifiableSet());
            ofBeans = known;
        }
        return known;
    }

    /** Lets calls find the election's leadership. Returns false if they do already, or we stand no more. */
    private synchronized boolean enter(String election) {
        if (!running || leaderships.containsKey(election)) {
            return false;
        }
        var leadership = new Leadership(publisher, LedBeans.of(election, beans));
        if (latest.containsKey(election)) {
            leadership.starting();
        }
        latest.put(election, leadership); // first: who finds it among the others finds it here
        leaderships.put(election, leadership);
        return true;
    }

    /** Stands in an election that was entered. Beans are waited for without the lock, so that the context can stop. */
    private void stand(String election) {
        var leadership = Objects.requireNonNull(latest.get(election));
        leadership.stopBeans(); // a context that is started again, not refreshed, has started all with a lifecycle
        onStanding.accept(election);
        var config = properties.candidacy(election, leadership);
        synchronized (this) {
            if (running && leadership.equals(leaderships.get(election))) {
                leadership.stands(elections.stand(election, config));
            }
        }
    }

    /**
     * The context stops: anybody who does not lead leaves; a leader hands over, if so configured and not done when the
     * context began to close; and nothing is started any more.
     */
    void closing() {
        leaderships.values().forEach(Leadership::leaving);
        resignStandbys(); // to hand over takes time, in which they could begin to lead
        handOver();
        leave();
    }

    private synchronized void resignStandbys() {
        all().stream().filter(candidacy -> !candidacy.isLeader()).forEach(Candidacy::resign);
    }

    /** Hands over what this process leads, if so configured; once until the context starts again. */
    private void handOver() {
        var within = properties.getHandOverOnShutdown();
        if (within != null && handingOver.compareAndSet(false, true)) {
            handOver(within);
        }
    }

    /** Everything runs still while standbys get ready; and the lock is free. */
    private void handOver(Duration within) {
        var all = all().stream()
                .filter(Candidacy::isLeader)
                .map(candidacy -> CompletableFuture.runAsync(
                        () -> handOver(candidacy, within), task -> new Thread(task, "bellwether-hand-over").start()))
                .toList();
        all.forEach(CompletableFuture::join);
    }

    private static void handOver(Candidacy candidacy, Duration within) {
        try {
            log.info("{}: {}", candidacy, candidacy.handOver(within));
        } catch (ElectionException e) { // then it is left to the standbys, when we give it up
            log.warn("{} is not handed over: {}", candidacy, e.getMessage());
        }
    }

    private synchronized void leave() {
        running = false;
        for (var leadership : leaderships.values()) {
            leadership.closing();
        }
        resignStandbys();
    }

    /** Everything else has stopped: gives up all seats, in order and all at once. */
    synchronized void close() {
        running = false;
        var open = new ArrayList<>(all());
        open.forEach(Candidacy::resign);
        open.forEach(Candidacy::close);
        leaderships.clear();
        unstood.clear();
    }
}
