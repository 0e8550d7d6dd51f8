package dev.bellwether.cli.look;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.Connected;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Screen;
import dev.bellwether.cli.command.Text;
import dev.bellwether.spi.ConnectUri;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether watch} */
@Command(
        name = "watch",
        header = "Watch who leads, live.",
        description =
                "On a terminal, a table that is kept up to date, with the last changes under it; elsewhere one line per"
                        + " change.",
        footer = {
            "  bellwether watch                          all elections, also those that come later",
            "  bellwether watch billing | tee changes.log",
            "  bellwether watch --json --for 1h          one JSON document per line and change"
        })
public final class WatchCommand implements Callable<Integer> {
    private static final int LAST_CHANGES = 8;

    private final CommandEnvironment around;
    private final Set<String> followed = new HashSet<>(); // guarded by this, as is the next
    private final Map<String, Optional<Leader>> seats = new TreeMap<>();
    private final List<String> changes = new ArrayList<>();
    private final Set<String> refused = new HashSet<>(); // confined to the thread that asks
    private int drawnLines;
    private Screen screen = Screen.USUAL;
    private boolean unknown; // guarded by this: the backend does not tell what is so now
    private boolean answered; // confined to the thread that asks

    @Mixin
    private final BackendOptions target;

    @Parameters(paramLabel = "ELECTION", arity = "0..1", description = "Its name. Default: all.")
    private @Nullable String election;

    @Option(names = "--for", paramLabel = "TIME", description = "Stop after this time. Default: at Ctrl-C.")
    private Optional<Duration> time = Optional.empty();

    @Option(names = "--json", description = "Print one JSON document per line and change.")
    private boolean json;

    public WatchCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        if (election != null) {
            BackendOptions.checked(election);
        }
        if (live()) {
            measured(Screen.of(around)); // what comes first is drawn at once
        }
        var end = System.nanoTime() + time.orElse(Duration.ofDays(36_500)).toNanos();
        var watches = new TreeMap<String, Watch>();
        var uri = target.uri();
        try (var connected = target.connect(uri)) {
            var elections = connected.elections();
            while (true) {
                connected.again();
                names(connected, uri).ifPresent(names -> follow(names, watches, elections));
                if (live()) {
                    measured(Screen.of(around));
                    draw();
                }
                var left = end - System.nanoTime();
                if (left <= 0 || around.out().checkError()) {
                    return ExitCode.OK; // of output that cannot be written, all verbs are told in the end
                }
                TimeUnit.NANOSECONDS.sleep(Math.min(left, 1_000_000_000L));
            }
        } finally {
            Bounded.farewell(() -> watches.values().forEach(Watch::close));
        }
    }

    /** Watches those that are new, and forgets those that are gone. */
    private void follow(List<String> names, Map<String, Watch> watches, Elections elections) {
        for (var name : names) {
            if (!watches.containsKey(name)) {
                meet(name);
                try {
                    watches.put(name, elections.election(name).watch(leader -> changed(name, leader)));
                } catch (ElectionException e) { // of this one: it must not hide the others
                    forget(name);
                    if (refused.add(name)) {
                        complain(name + ": " + e.getMessage());
                    }
                }
            }
        }
        refused.retainAll(names);
        var gone = new TreeSet<>(watches.keySet());
        gone.removeAll(new HashSet<>(names));
        for (var name : gone) {
            Optional.ofNullable(watches.remove(name)).ifPresent(Watch::close);
            forget(name);
        }
    }

    private synchronized void meet(String name) {
        followed.add(name);
    }

    private synchronized void forget(String name) {
        if (seats.getOrDefault(name, Optional.empty()).isPresent()) {
            changed(name, Optional.empty());
        }
        followed.remove(name);
        seats.remove(name);
    }

    /** Returns the elections to watch; nothing if the backend does not tell. */
    private Optional<List<String>> names(Connected connected, ConnectUri uri) throws Exception {
        try {
            var names = connected.ask(() -> names(connected.elections()));
            answered = true;
            known();
            return Optional.of(names);
        } catch (ElectionException e) {
            if (!answered && !(e instanceof UnavailableException)) {
                throw e; // this is not for a while
            }
            notKnown(uri.redact(String.valueOf(e.getMessage())));
            return Optional.empty(); // those that we know are watched on; new ones are found when it answers again
        }
    }

    /** Asks for one that is named, too: a watch does not tell that it hears nothing. */
    private List<String> names(Elections elections) {
        if (election == null) {
            return elections.list();
        }
        elections.election(election).state();
        return List.of(election);
    }

    private synchronized void notKnown(String why) {
        if (!unknown) {
            unknown = true;
            complain(why + ". Trying again");
        }
    }

    private synchronized void known() {
        if (unknown) {
            unknown = false;
            complain("the backend answers again");
        }
    }

    private void complain(String message) {
        if (live()) {
            changed(now() + "  " + message);
        } else {
            around.complain(message);
        }
    }

    private boolean live() {
        return !json && around.isRedrawn();
    }

    private synchronized void changed(String name, Optional<Leader> leader) {
        if (!followed.contains(name)) {
            return; // it was forgotten when this had begun
        }
        var before = seats.getOrDefault(name, Optional.empty());
        seats.put(name, leader);
        var now = Instant.now();
        if (json) {
            around.out().println(Json.object(out -> {
                out.writeStringField("time", now.toString());
                out.writeStringField("election", name);
                Json.leader(out, leader);
            }));
            return;
        }
        var line = now() + "  " + name + "  " + words(before, leader);
        if (live()) {
            changed(line);
        } else {
            around.say(line);
        }
    }

    private synchronized void changed(String line) {
        changes.add(line);
        if (changes.size() > LAST_CHANGES) {
            changes.remove(0);
        }
        draw();
    }

    private static LocalTime now() {
        return LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.MILLIS);
    }

    private static String words(Optional<Leader> before, Optional<Leader> leader) {
        if (leader.isPresent()) {
            return leader.get().candidate() + " leads, token " + leader.get().token();
        }
        return before != null && before.isPresent()
                ? "nobody leads; last was " + before.get().candidate()
                : "nobody leads";
    }

    /** Somebody may have made it smaller or larger. */
    private synchronized void measured(Screen now) {
        screen = now;
    }

    private synchronized void draw() {
        var paint = new Paint(around.colours());
        var rows = new ArrayList<List<String>>();
        rows.add(List.of("ELECTION", "TOKEN", "FOR", "LEADER"));
        var now = Instant.now();
        seats.entrySet().stream()
                .sorted(Comparator.comparing(
                        one -> one.getValue().isPresent())) // vacant ones first, if not all have room
                .map(one -> unknown ? unknownRow(one.getKey(), one.getValue()) : row(one.getKey(), one.getValue(), now))
                .forEach(rows::add);
        var table = Text.columns(rows);
        var lines = screen.fit(table.get(0), table.subList(1, table.size()), changes);
        var drawn = screen.redraw(lines, drawnLines, paint);
        drawnLines = lines.size();
        around.out().print(drawn);
        around.out().flush();
    }

    private static List<String> row(String name, Optional<Leader> leader, Instant now) {
        return leader.map(one -> List.of(name, Long.toString(one.token()), Text.age(one.since(), now), one.candidate()))
                .orElse(List.of(name, "-", "-", "(nobody)"));
    }

    private static List<String> unknownRow(String name, Optional<Leader> last) {
        return List.of(
                name,
                "?",
                "?",
                "(unknown; last was " + last.map(Leader::candidate).orElse("nobody") + ")");
    }
}
