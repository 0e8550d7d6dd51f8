package dev.bellwether.cli.demo;

import dev.bellwether.cli.command.Text;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.faults.History;
import dev.bellwether.testkit.faults.ObservedTerm;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The candidates of the demo, and what is done to them. Thread-safe: one lock for all. */
final class DemoCluster implements AutoCloseable {
    static final Duration SLOW = Duration.ofMillis(150);
    private static final List<String> NAMES = List.of("ann", "bob", "cyd", "dee", "eve", "fay");

    private final Engine engine;
    private final DemoProcess.Orders orders;
    private final Consumer<Note> notes;
    private final History history = new History();
    private final ScenePage page;
    private final List<Contestant> contestants = new ArrayList<>();
    private final List<DemoProcess> processes = new ArrayList<>();
    private int started;
    private ServerState server = ServerState.SERVING;
    private Optional<ObservedTerm> leading = Optional.empty();
    private boolean over;

    /** What has happened, for people. */
    record Note(long nanos, Tone tone, String text) {}

    enum Tone {
        GOOD,
        BAD,
        PLAIN,
        FAINT
    }

    enum ServerState {
        SERVING,
        DEAD,
        STARTING
    }

    /** The engine is the caller's to close, after {@link #close}. */
    DemoCluster(Engine engine, DemoProcess.Orders orders, Feed feed, Consumer<Note> notes) {
        this.engine = engine;
        this.orders = orders;
        this.notes = notes;
        page = new ScenePage(feed, engine, orders);
        page.server(server);
    }

    /** Starts a candidate at the next free place. */
    synchronized void startNext() throws IOException {
        if (contestants.size() == Math.min(engine.places(), NAMES.size())) {
            throw new IllegalStateException("all " + contestants.size() + " places are taken");
        }
        var place = contestants.size();
        var one = new Contestant(NAMES.get(place), place, engine.links(place));
        contestants.add(one);
        start(one);
    }

    /**
     * Does it, to this candidate if it is about one, and to the leader if none is named. Complains by
     * IllegalStateException.
     */
    synchronized void act(Action action, Optional<String> name) throws IOException, InterruptedException {
        if (over) {
            throw new IllegalStateException("the demo is over");
        }
        switch (action) {
            case START -> {
                var dead = name.isPresent()
                        ? Optional.of(contestant(name.get()))
                        : contestants.stream().filter(one -> !one.isAlive()).findFirst();
                if (dead.isPresent()) {
                    start(dead.get());
                } else {
                    startNext();
                }
            }
            case KILL_SERVER -> killServer();
            case START_SERVER -> startServer();
            default ->
                act(
                        action,
                        contestant(name.or(this::target)
                                .orElseThrow(() -> new IllegalStateException("nobody leads: name a candidate"))));
        }
        look();
    }

    private Optional<String> target() {
        return history.newest().map(ObservedTerm::candidate);
    }

    private Contestant contestant(String name) {
        return contestants.stream()
                .filter(one -> one.name.equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("there is no candidate \"" + name + "\""));
    }

    private void act(Action action, Contestant one) throws IOException, InterruptedException {
        var process = one.process();
        if (!one.isAlive()) {
            throw new IllegalStateException(one.name + " is dead: start it again");
        }
        switch (action) {
            case KILL -> {
                note(Tone.BAD, "kill -9 " + process.pid() + ", " + one.name, one, action);
                one.killedByUs = true;
                process.kill();
                page.unfrozen(one.name);
            }
            case FREEZE -> {
                require(!process.isFrozen(), one.name + " is frozen already");
                note(Tone.BAD, "freeze " + one.name + " (SIGSTOP)", one, action);
                process.freeze();
                page.frozen(one.name);
            }
            case THAW -> {
                require(process.isFrozen(), one.name + " is not frozen");
                note(Tone.PLAIN, "thaw " + one.name + " (SIGCONT)", one, action);
                process.thaw();
                page.unfrozen(one.name);
            }
            case CUT -> cut(one, Link.Way.BOTH, "cut " + one.name + " off, both ways", action);
            case CUT_REQUESTS -> cut(one, Link.Way.REQUESTS, "cut " + one.name + " off: what it sends is lost", action);
            case CUT_ANSWERS ->
                cut(one, Link.Way.ANSWERS, "cut " + one.name + " off: what is sent to it is" + " lost", action);
            case HEAL -> {
                requireLinks(one);
                note(Tone.PLAIN, "heal the network of " + one.name, one, action);
                one.links.forEach(FaultProxy::heal);
                one.cut = Optional.empty();
                one.slow = false;
                page.healed(one.name);
            }
            case SLOW -> {
                requireLinks(one);
                note(
                        Tone.BAD,
                        "slow the network of " + one.name + ": " + SLOW.toMillis() + " ms more each way",
                        one,
                        action);
                one.links.forEach(link -> link.delay(SLOW));
                one.slow = true;
                page.slowed(one.name);
            }
            case RESIGN -> {
                require(!process.isFrozen(), one.name + " is frozen, and receives nothing: thaw it");
                note(Tone.PLAIN, "ask " + one.name + " to resign", one, action);
                process.resign();
            }
            case START, KILL_SERVER, START_SERVER -> throw new IllegalArgumentException(action.id());
        }
    }

    private void cut(Contestant one, Link.Way way, String words, Action action) {
        requireLinks(one);
        note(Tone.BAD, words, one, action);
        one.links.forEach(link -> link.cut(way));
        one.cut = Optional.of(way);
        page.cut(one.name, way);
    }

    private void start(Contestant one) throws IOException {
        require(!one.isAlive(), one.name + " runs already");
        var process = DemoProcess.start(one.name, ++started, engine.uri(one.place), orders);
        processes.add(process);
        one.process = process;
        one.killedByUs = false;
        one.mourned = false;
        note(Tone.FAINT, one.name + " starts, process " + one.process().pid(), one, Action.START);
        page.alive(one.name);
    }

    private Engine.Server engineServer() {
        return engine.server()
                .orElseThrow(() -> new IllegalStateException("the server is not the demo's: it cannot be killed here"));
    }

    private void killServer() {
        var mine = engineServer();
        require(server == ServerState.SERVING, "the " + mine.name() + " does not run");
        note(Tone.BAD, "kill -9 the " + mine.name());
        mine.kill();
        server = ServerState.DEAD;
        page.server(server);
    }

    /** Returns at once: it takes some seconds. */
    private void startServer() {
        var mine = engineServer();
        require(server == ServerState.DEAD, "the " + mine.name() + " runs");
        note(Tone.PLAIN, "start the " + mine.name());
        server = ServerState.STARTING;
        page.server(server);
        var starter = new Thread(
                () -> {
                    try {
                        mine.start();
                        serves(ServerState.SERVING, Tone.FAINT, "the " + mine.name() + " serves again");
                    } catch (RuntimeException e) {
                        serves(ServerState.DEAD, Tone.BAD, "the " + mine.name() + " did not start: " + e.getMessage());
                    }
                },
                "bellwether-demo-server");
        starter.setDaemon(true);
        starter.start();
    }

    private synchronized void serves(ServerState now, Tone tone, String text) {
        if (!over) {
            server = now;
            page.server(server);
            note(tone, text);
        }
    }

    /** Hears what the candidates saw, tells what is new, and brings the page up to date. */
    synchronized void look() {
        if (over) {
            return;
        }
        // Who begins was elected after all others had ended; so what is told of those must have been read after that.
        var begun = new HashSet<ObservedTerm.Key>();
        processes.forEach(process -> process.look().forEach(term -> begun.add(term.key())));
        var terms = new ArrayList<ObservedTerm>();
        for (var process : processes) {
            for (var term : process.look()) {
                if (!begun.contains(term.key())) {
                    break; // the next time
                }
                process.heard(term);
                terms.add(term);
            }
        }
        processes.removeIf(process -> !process.isAlive() && process.look().isEmpty());
        terms.sort(Comparator.comparing(ObservedTerm::firstNanos, (a, b) -> Long.signum(a - b)));
        terms.forEach(this::hear);
        for (var one : contestants) {
            mourn(one);
            page.candidate(one, leading.filter(term -> term.candidate().equals(one.name)));
        }
        page.figures(history, leading.isPresent());
    }

    private void hear(ObservedTerm term) {
        var vacancies = history.vacancies().size();
        if (!history.tell(term)) {
            return;
        }
        page.vacancies(history);
        page.term(term, history.overlapNanos());
        var same = leading.filter(now -> now.key().equals(term.key()));
        if (same.isPresent()) {
            leading = term.over() ? Optional.empty() : Optional.of(term);
            if (term.over()) {
                notes.accept(new Note(term.lastNanos(), Tone.PLAIN, term.candidate() + " leads no more"));
            }
        } else if (history.newest().filter(term::equals).isPresent()) {
            leading = term.over() ? Optional.empty() : Optional.of(term);
            var vacancy = history.vacancies().size() > vacancies
                    ? "; vacant for "
                            + Text.millis(history.lastVacancy().orElseThrow().nanos())
                    : "";
            notes.accept(new Note(
                    term.firstNanos(), Tone.GOOD, term.candidate() + " leads, token " + term.token() + vacancy));
        }
    }

    private void mourn(Contestant one) {
        if (!one.isAlive() && !one.mourned) {
            one.mourned = true;
            page.dead(one.name);
            if (!one.killedByUs) {
                note(Tone.BAD, one.name + " has ended by itself: see " + orders.folder());
            }
        }
    }

    /** Returns the names of the candidates whose processes run. */
    synchronized List<String> running() {
        return contestants.stream()
                .filter(Contestant::isAlive)
                .map(one -> one.name)
                .toList();
    }

    /** Returns the names of the candidates that stand. */
    synchronized List<String> standing() {
        return contestants.stream()
                .filter(one -> one.isAlive() && one.process().isStanding())
                .map(one -> one.name)
                .toList();
    }

    synchronized boolean isFrozen(String name) {
        return contestant(name).isAlive() && contestant(name).process().isFrozen();
    }

    synchronized boolean isCut(String name) {
        return contestant(name).cut.isPresent();
    }

    /** Returns the name at this number, counted from 1. */
    synchronized Optional<String> nameAt(int number) {
        return number >= 1 && number <= contestants.size()
                ? Optional.of(contestants.get(number - 1).name)
                : Optional.empty();
    }

    /** Returns the term of who leads now, as far as is known. */
    synchronized Optional<ObservedTerm> leading() {
        return leading;
    }

    synchronized ServerState server() {
        return server;
    }

    synchronized long overlapNanos() {
        return history.overlapNanos();
    }

    synchronized List<History.Vacancy> vacancies() {
        return history.vacancies();
    }

    /** Returns what the time is on the axis of the page. */
    double now() {
        return page.now();
    }

    /** Kills all candidates, and returns when they are dead. Idempotent. */
    @Override
    public synchronized void close() {
        over = true;
        try {
            for (var process : processes) {
                process.kill();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void note(Tone tone, String text, Contestant one, Action action) {
        note(tone, text);
        page.mark(one.name, action, text);
    }

    private void note(Tone tone, String text) {
        notes.accept(new Note(System.nanoTime(), tone, text));
    }

    private void requireLinks(Contestant one) {
        require(
                !one.links.isEmpty(),
                "there is no network of " + one.name + " that the demo could touch: " + engine.describe());
    }

    private static void require(boolean condition, String complaint) {
        if (!condition) {
            throw new IllegalStateException(complaint);
        }
    }

    /** A candidate: its process, one after another, and its network, which stays. */
    static final class Contestant {
        final String name;
        final int place;
        final List<FaultProxy> links;
        private @Nullable DemoProcess process;
        private boolean killedByUs;
        private boolean mourned;
        Optional<Link.Way> cut = Optional.empty();
        boolean slow;

        private Contestant(String name, int place, List<FaultProxy> links) {
            this.name = name;
            this.place = place;
            this.links = links;
        }

        DemoProcess process() {
            return Objects.requireNonNull(process);
        }

        boolean isAlive() {
            return process != null && process.isAlive();
        }
    }
}
