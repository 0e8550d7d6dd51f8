package dev.bellwether.cli.console;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.HandOverWords;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.cli.page.PageClock;
import dev.bellwether.cli.page.PageServer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Watches all elections of a backend and tells a page of them. Thread-safe.
 *
 * <p>Times are this machine's, from when a change was heard of: the backend's own tell since when somebody leads, if
 * that is longer ago.
 */
final class ElectionMonitor implements PageServer.Orders, AutoCloseable {
    private static final Duration READY_WITHIN = Duration.ofSeconds(30);
    private static final int TERMS_KEPT = 40;

    private final Elections elections;
    private final Feed feed;
    private final boolean readOnly;
    private final PageClock clock;
    private final Map<String, Seat> seats = new HashMap<>(); // guarded by this
    private boolean closed; // guarded by this
    private boolean answered; // confined to the thread that looks
    private double answeredAt; // in the same way
    private Optional<Outage> outage = Optional.empty(); // in the same way
    private int outages; // in the same way

    /** While the backend does not answer, or refuses to, nobody knows who leads: from the last answer on. */
    private record Outage(String id, double from) {}

    ElectionMonitor(Elections elections, Feed feed, PageClock clock, String on, boolean readOnly) {
        this.elections = elections;
        this.feed = feed;
        this.clock = clock;
        this.readOnly = readOnly;
        answeredAt = clock.began();
        feed.put("console", "", json -> {
            json.writeStringField("on", on);
            json.writeBooleanField("readOnly", readOnly);
            json.writeNumberField("began", clock.began());
        });
    }

    /** An election as it has been seen. */
    private static final class Seat {
        private final Deque<Reign> reigns = new ArrayDeque<>();
        private Optional<Watch> watch = Optional.empty();
        private Optional<Reign> now = Optional.empty();
        private int changes;
        private boolean known;
    }

    private record Reign(String leader, long token, double from) {}

    /**
     * Finds elections that are new, and forgets those that are gone. Those that are known are watched meanwhile. If
     * there is no answer, or access is refused, as it may be for a while, the page says so.
     *
     * @throws ElectionException if access is refused and there never was an answer: then it is not for a while
     */
    void look() {
        try {
            var names = elections.list();
            answered = true;
            answers(Optional.empty());
            var gone = new HashSet<String>();
            for (var name : names) {
                meet(name);
            }
            synchronized (this) {
                gone.addAll(seats.keySet());
            }
            gone.removeAll(new HashSet<>(names));
            gone.forEach(this::forget);
        } catch (ElectionException e) {
            if (!answered && !(e instanceof UnavailableException)) {
                throw e;
            }
            answers(Optional.of(String.valueOf(e.getMessage())));
        }
    }

    private void answers(Optional<String> complaint) {
        if (complaint.isPresent()) {
            var since = outage.orElseGet(() -> new Outage(Integer.toString(outages++), answeredAt));
            outage = Optional.of(since);
            tell(since, Optional.empty());
        } else {
            answeredAt = clock.now();
            outage.ifPresent(since -> tell(since, Optional.of(answeredAt)));
            outage = Optional.empty();
        }
        var unknownSince = outage.map(Outage::from);
        feed.put("backend", "", json -> {
            json.writeStringField("complaint", complaint.orElse(""));
            if (unknownSince.isPresent()) {
                json.writeNumberField("unknownSince", unknownSince.get());
            }
        });
    }

    private void tell(Outage one, Optional<Double> to) {
        feed.put("unknown", one.id, json -> {
            json.writeNumberField("from", one.from);
            if (to.isPresent()) {
                json.writeNumberField("to", to.get());
            }
        });
    }

    private void meet(String name) {
        synchronized (this) {
            if (closed || seats.containsKey(name)) {
                return;
            }
            seats.put(name, new Seat());
        }
        show(name);
        Watch watch;
        try {
            watch = elections.election(name).watch(leader -> tell(name, leader));
        } catch (UnavailableException | AccessRefusedException e) {
            forget(name); // it is met again when that has passed
            throw e;
        } catch (ElectionException e) { // of this one, which is unknown: anybody who looks at it is told why
            return;
        }
        synchronized (this) {
            var seat = seats.get(name);
            if (seat != null && !closed) {
                seat.watch = Optional.of(watch);
                return;
            }
        }
        watch.close();
    }

    private void forget(String name) {
        Optional<Watch> watch;
        synchronized (this) {
            var seat = seats.remove(name);
            if (seat == null) {
                return;
            }
            watch = seat.watch;
            seat.reigns.forEach(reign -> feed.remove("term", term(name, reign)));
            feed.remove("seat", name);
        }
        watch.ifPresent(Watch::close);
    }

    /** Shows an election of which nothing has been heard yet. */
    private synchronized void show(String name) {
        var seat = seats.get(name);
        if (seat != null) {
            put(name, seat);
        }
    }

    private synchronized void tell(String name, Optional<Leader> leader) {
        var seat = seats.get(name);
        if (seat == null) {
            return;
        }
        seat.known = true;
        var now = clock.now();
        var before = seat.now;
        if (before.isPresent()
                && leader.filter(one -> one.token() == before.get().token()).isEmpty()) {
            put(name, before.get(), Optional.of(now));
            seat.changes++;
        }
        if (leader.isPresent()
                && before.filter(one -> one.token() == leader.get().token()).isEmpty()) {
            var since = seat.reigns.isEmpty()
                    ? Math.min(now, (double) leader.get().since().toEpochMilli())
                    : now;
            var reign = new Reign(leader.get().candidate(), leader.get().token(), since);
            seat.reigns.addLast(reign);
            put(name, reign, Optional.empty());
            if (seat.reigns.size() > TERMS_KEPT) {
                feed.remove("term", term(name, seat.reigns.removeFirst()));
            }
            seat.now = Optional.of(reign);
        } else if (leader.isEmpty()) {
            seat.now = Optional.empty();
        }
        put(name, seat);
    }

    private void put(String name, Seat seat) {
        var reign = seat.now;
        var now = clock.now();
        feed.put("seat", name, json -> {
            json.writeStringField("name", name);
            json.writeBooleanField("known", seat.known);
            json.writeStringField("leader", reign.map(Reign::leader).orElse(""));
            json.writeNumberField("token", reign.map(Reign::token).orElse(0L));
            json.writeNumberField("since", reign.map(Reign::from).orElse(now));
            json.writeNumberField("changes", seat.changes);
        });
    }

    private void put(String name, Reign reign, Optional<Double> to) {
        feed.put("term", term(name, reign), json -> {
            json.writeStringField("row", name);
            json.writeStringField("leader", reign.leader);
            json.writeNumberField("token", reign.token);
            json.writeNumberField("from", reign.from);
            if (to.isPresent()) {
                json.writeNumberField("to", to.get());
            }
        });
    }

    private static String term(String name, Reign reign) {
        return reign.token + "." + name;
    }

    @Override
    public void order(Map<String, String> words) {
        var name = words.getOrDefault("name", "");
        requireName(name);
        if (readOnly) {
            throw new IllegalStateException("this console is read-only");
        }
        try {
            switch (words.getOrDefault("action", "")) {
                case "stand-down" -> {
                    if (!elections.election(name).standDown()) {
                        throw new IllegalStateException("nobody leads " + name);
                    }
                }
                case "hand-over" -> handOver(name, words.getOrDefault("to", ""));
                default -> throw new IllegalArgumentException("there is no action \"" + words.get("action") + "\"");
            }
        } catch (ElectionException e) { // no answer, no access, or not on this backend
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    private void handOver(String name, String to) {
        var done = elections.election(name).handOver(to, READY_WITHIN);
        if (!done.isDone()) {
            throw new IllegalStateException(HandOverWords.of(done, name, Optional.of(to), READY_WITHIN));
        }
    }

    private static void requireName(String name) {
        try {
            BackendOptions.checked(name);
        } catch (UsageException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /** Returns one election as the backend sees it now. */
    @Override
    public String look(Map<String, String> words) {
        var name = words.getOrDefault("name", "");
        requireName(name);
        Election.State state;
        try {
            state = elections.election(name).state();
        } catch (ElectionException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
        return Json.object(json -> {
            json.writeStringField("name", name);
            json.writeBooleanField("ended", state.ended());
            Json.leader(json, state.leader());
            json.writeArrayFieldStart("candidates");
            for (var one : state.candidates()) {
                Json.candidate(json, one);
            }
            json.writeEndArray();
        });
    }

    @Override
    public void close() {
        List<Watch> watches;
        synchronized (this) {
            closed = true;
            watches =
                    seats.values().stream().flatMap(seat -> seat.watch.stream()).toList();
        }
        watches.forEach(Watch::close);
    }
}
