package dev.bellwether.cli.demo;

import dev.bellwether.cli.page.Feed;
import dev.bellwether.testkit.Link;
import dev.bellwether.testkit.faults.History;
import dev.bellwether.testkit.faults.ObservedTerm;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Tells the page what happens in the scene; times are milliseconds since the beginning. Confined to anybody who holds
 * the lock of the scene.
 */
final class ScenePage {
    private final Feed feed;
    private final Engine engine;
    private final long began = System.nanoTime();
    private final Map<String, Span> open = new HashMap<>();
    private int spans;
    private int marks;
    private int vacancies;

    /** A state that lasts: {@code frozen}, {@code cut}, {@code slow} or {@code dead}. */
    private record Span(int number, String row, String kind, String text, double from) {}

    ScenePage(Feed feed, Engine engine, DemoProcess.Orders orders) {
        this.feed = feed;
        this.engine = engine;
        feed.put("demo", "", json -> {
            json.writeStringField("engine", engine.describe());
            json.writeStringField("uri", engine.shownUri());
            json.writeStringField("election", orders.election());
            json.writeNumberField("lease", orders.lease().toMillis());
            json.writeBooleanField("network", !engine.links(0).isEmpty());
            json.writeArrayFieldStart("actions");
            for (var action : Action.values()) {
                json.writeStartObject();
                json.writeStringField("id", action.id());
                json.writeStringField("words", action.words());
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    /** Returns what the time is on the axis of the page. */
    double now() {
        return millis(System.nanoTime());
    }

    void server(DemoCluster.ServerState state) {
        engine.server().ifPresent(server -> {
            feed.put("server", "", json -> {
                json.writeStringField("name", server.name());
                json.writeStringField("state", state.name().toLowerCase(Locale.ROOT));
            });
            if (state == DemoCluster.ServerState.SERVING) {
                end("", "dead");
            } else if (!open.containsKey(key("", "dead"))) {
                begin("", "dead", "the " + server.name() + " is dead");
            }
        });
    }

    void candidate(DemoCluster.Contestant one, Optional<ObservedTerm> leading) {
        feed.put("row", one.name, json -> {
            json.writeStringField("name", one.name);
            json.writeNumberField("place", one.place);
            json.writeNumberField("pid", one.process().pid());
            json.writeStringField("state", state(one, leading.isPresent()));
            json.writeBooleanField("frozen", one.isAlive() && one.process().isFrozen());
            json.writeStringField(
                    "cut",
                    one.cut.map(way -> way.name().toLowerCase(Locale.ROOT)).orElse(""));
            json.writeBooleanField("slow", one.slow);
            json.writeNumberField("token", leading.map(ObservedTerm::token).orElse(0L));
        });
    }

    private static String state(DemoCluster.Contestant one, boolean leads) {
        if (!one.isAlive()) {
            return "dead";
        }
        if (leads) {
            return "leading";
        }
        return one.process().isStanding() ? "standing by" : "not standing";
    }

    void term(ObservedTerm term, long overlapNanos) {
        feed.put("term", term.process() + "." + term.token(), json -> {
            json.writeStringField("row", term.candidate());
            json.writeNumberField("token", term.token());
            json.writeNumberField("from", millis(term.firstNanos()));
            json.writeNumberField("to", millis(term.lastNanos()));
            json.writeBooleanField("over", term.over());
            json.writeNumberField("overlapNanos", overlapNanos);
        });
    }

    void figures(History history, boolean leads) {
        feed.put("figures", "", json -> {
            json.writeNumberField("overlapNanos", history.overlapNanos());
            json.writeNumberField("vacancies", history.vacancies().size());
            json.writeBooleanField("leads", leads);
            if (history.ledUntilNanos().isPresent() && !leads) {
                json.writeNumberField(
                        "vacantSince", millis(history.ledUntilNanos().get()));
            }
        });
    }

    /** Before the term that ended it, so that anybody who is told of the one knows of the other. */
    void vacancies(History history) {
        var all = history.vacancies();
        for (; vacancies < all.size(); vacancies++) {
            var one = all.get(vacancies);
            feed.put("vacancy", Integer.toString(vacancies), json -> {
                json.writeNumberField("from", millis(one.fromNanos()));
                json.writeNumberField("to", millis(one.toNanos()));
                json.writeNumberField("token", one.token());
                json.writeStringField("next", one.next());
            });
        }
    }

    void mark(String row, Action action, String text) {
        var at = now();
        feed.put("mark", Integer.toString(marks++), json -> {
            json.writeStringField("row", row);
            json.writeStringField("action", action.id());
            json.writeStringField("text", text);
            json.writeNumberField("at", at);
        });
    }

    void frozen(String row) {
        begin(row, "frozen", "frozen");
    }

    void unfrozen(String row) {
        end(row, "frozen");
    }

    void cut(String row, Link.Way way) {
        end(row, "cut");
        begin(
                row,
                "cut",
                switch (way) {
                    case BOTH -> "cut off";
                    case REQUESTS -> "cut off: what it sends is lost";
                    case ANSWERS -> "cut off: what is sent to it is lost";
                });
    }

    void slowed(String row) {
        if (!open.containsKey(key(row, "slow"))) {
            begin(row, "slow", "slow");
        }
    }

    void healed(String row) {
        end(row, "cut");
        end(row, "slow");
    }

    void dead(String row) {
        begin(row, "dead", "dead");
    }

    void alive(String row) {
        end(row, "dead");
    }

    private void begin(String row, String kind, String text) {
        var span = new Span(spans++, row, kind, text, now());
        open.put(key(row, kind), span);
        put(span, Optional.empty());
    }

    private void end(String row, String kind) {
        var span = open.remove(key(row, kind));
        if (span != null) {
            put(span, Optional.of(now()));
        }
    }

    private void put(Span span, Optional<Double> to) {
        feed.put("span", Integer.toString(span.number), json -> {
            json.writeStringField("row", span.row);
            json.writeStringField("kind", span.kind);
            json.writeStringField("text", span.text);
            json.writeNumberField("from", span.from);
            if (to.isPresent()) {
                json.writeNumberField("to", to.get());
            }
        });
    }

    private static String key(String row, String kind) {
        return row + "/" + kind;
    }

    private double millis(long nanos) {
        return Math.round((nanos - began) / 1000.0) / 1000.0;
    }
}
