package dev.bellwether.cli.outbox;

import dev.bellwether.ElectionException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Screen;
import dev.bellwether.cli.command.Text;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.outbox.OutboxAdmin;
import dev.bellwether.outbox.OutboxAdmin.ShardState;
import dev.bellwether.outbox.OutboxAdmin.State;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code bellwether outbox status} */
@Command(
        name = "status",
        header = "Show backlog, age of the oldest, rates, leaders, parked and blocked records.",
        description = "With --watch again and again: on a terminal in place, elsewhere a line each time. It counts"
                + " 100,000 rows at most; beyond that it shows the database's estimate.",
        footer = {
            "  bellwether outbox status --watch --db 'jdbc:postgresql://db/app?user=ops'",
            "  bellwether outbox status --watch --interval 10s --json | jq .backlog"
        })
public final class StatusCommand implements Callable<Integer> {
    private static final Duration INTERVAL = Duration.ofSeconds(2);

    private final CommandEnvironment around;

    @Mixin
    private OutboxCommand.At at = new OutboxCommand.At();

    @Option(names = "--watch", description = "Look again and again, until Ctrl-C.")
    private boolean watch;

    @Option(names = "--interval", paramLabel = "TIME", description = "Look so often. Default: 2s.")
    private Optional<Duration> interval = Optional.empty();

    @Option(names = "--for", paramLabel = "TIME", description = "Stop watching after this time.")
    private Optional<Duration> time = Optional.empty();

    @Option(names = "--json", description = "Print JSON; with --watch a document per line.")
    private boolean json;

    private int drawnLines;

    public StatusCommand(CommandEnvironment around) {
        this.around = around;
    }

    @Override
    public Integer call() throws Exception {
        if (watch) {
            return watch();
        }
        if (interval.isPresent() || time.isPresent()) {
            throw new UsageException("--interval and --for say how to watch: add --watch");
        }
        var state = at.ask(
                around, (database, table) -> OutboxAdmin.of(database, table).state());
        if (json) {
            around.out().println(OutboxJson.state(state, Optional.empty()));
        } else {
            lines(state, Instant.now()).forEach(around.out()::println);
        }
        return ExitCode.OK;
    }

    private int watch() throws Exception {
        var database = at.database(around).within(at.timeout());
        var table = at.ask(around, (same, found) -> found);
        var admin = OutboxAdmin.of(database, table);
        var looks = new OneQuestion(new Bounded(at.timeout(), () -> BackendOptions.late(database.uri(), at.timeout())));
        var end = System.nanoTime() + time.orElse(Duration.ofDays(36_500)).toNanos();
        Optional<State> last = Optional.empty();
        Optional<String> outage = Optional.empty();
        while (true) {
            try {
                last = Optional.of(looks.ask(() -> {
                    try {
                        return admin.quickState();
                    } catch (SQLException e) {
                        throw database.failed(e);
                    }
                }));
                outage = Optional.empty();
            } catch (ElectionException e) { // no answer, or a right that was withdrawn, perhaps for a while
                if (last.isEmpty()) {
                    throw e; // it never answered
                }
                if (outage.isEmpty() && !isLive()) {
                    around.complain(e.getMessage() + ". Trying again");
                }
                outage = Optional.of(String.valueOf(e.getMessage()));
            }
            show(table.name(), last.orElseThrow(), outage);
            var left = end - System.nanoTime();
            if (left <= 0 || around.out().checkError()) {
                return ExitCode.OK; // of output that cannot be written, all verbs are told in the end
            }
            TimeUnit.NANOSECONDS.sleep(Math.min(left, interval.orElse(INTERVAL).toNanos()));
        }
    }

    private boolean isLive() {
        return !json && around.isRedrawn();
    }

    private void show(String table, State state, Optional<String> outage) {
        var now = Instant.now();
        if (isLive()) {
            var screen = Screen.of(around);
            var time = clock(ChronoUnit.SECONDS);
            var lines = screen.fit(
                    outage.isPresent()
                            ? table + "  no answer at " + time + ": this was the state before"
                            : table + "  " + time,
                    lines(state, now),
                    outage.stream().toList());
            around.out().print(screen.redraw(lines, drawnLines, new Paint(around.colours())));
            around.out().flush();
            drawnLines = lines.size();
        } else if (outage.isEmpty()) {
            around.out().println(json ? OutboxJson.state(state, Optional.of(now)) : line(state));
        }
    }

    private static String nobody(ShardState shard) {
        return shard.relay().isEmpty() ? "(nobody yet)" : "(nobody; last was " + shard.relay() + ")";
    }

    private static LocalTime clock(ChronoUnit unit) {
        return LocalTime.now(ZoneId.systemDefault()).truncatedTo(unit);
    }

    private static String line(State state) {
        var rate = state.shards().stream()
                .filter(ShardState::isServed)
                .mapToDouble(ShardState::ratePerSecond)
                .sum();
        var unserved = state.shards().stream()
                .filter(shard -> !shard.isServed())
                .map(shard -> Integer.toString(shard.shard()))
                .collect(Collectors.joining(", "));
        return clock(ChronoUnit.MILLIS) + "  backlog " + backlog(state) + ", oldest "
                + CommandDurations.show(state.oldest()) + ", " + Math.round(rate) + "/s, parked " + state.parked()
                + ", blocked " + state.blocked() + (unserved.isEmpty() ? "" : ", nobody publishes shard " + unserved);
    }

    private static String backlog(State state) {
        return (state.exact() ? "" : "about ") + state.backlog();
    }

    private static List<String> lines(State state, Instant now) {
        var lines = new ArrayList<String>();
        lines.add("backlog  " + backlog(state));
        lines.add("oldest   " + CommandDurations.show(state.oldest()));
        lines.add("parked   " + state.parked());
        lines.add("blocked  " + state.blocked());
        var rows = new ArrayList<List<String>>();
        rows.add(List.of("SHARD", "LEADER", "FOR", "SEEN", "RATE", "PUBLISHED"));
        for (var shard : state.shards()) {
            var served = shard.isServed();
            rows.add(List.of(
                    Integer.toString(shard.shard()),
                    served ? shard.relay() : nobody(shard),
                    served ? Text.age(shard.since(), now) : "-",
                    Text.age(now.minus(shard.silent()), now) + " ago",
                    served ? Math.round(shard.ratePerSecond()) + "/s" : "-",
                    Long.toString(shard.published())));
        }
        lines.addAll(Text.columns(rows));
        return lines;
    }
}
