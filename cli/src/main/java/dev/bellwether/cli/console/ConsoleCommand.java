package dev.bellwether.cli.console;

import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.ExitHook;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.cli.outbox.OutboxMonitor;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.cli.page.ListenOptions;
import dev.bellwether.cli.page.LocalHttp;
import dev.bellwether.cli.page.PageClock;
import dev.bellwether.cli.page.PageServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code bellwether console} */
@Command(
        name = "console",
        header = "Serve a page that shows all elections of a backend, or an outbox, live.",
        description =
                "Leaders, tokens, candidates, changes and vacancies, with a search over thousands of elections; and"
                        + " the order to stand down, for anybody who has the token that is printed at the start.",
        footer = {
            "  bellwether console --on kafka://broker:9092",
            "  bellwether console --outbox 'jdbc:postgresql://db/app?user=ops' --table outbox",
            "  bellwether console --on-file /run/secrets/elections --read-only --listen 0.0.0.0 --port 8080 --host"
                    + " ops.example"
        })
public final class ConsoleCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Mixin
    private final ListenOptions listen = new ListenOptions();

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "0",
            description = "The port of the page. Default: a free one.")
    private int port;

    @Option(
            names = "--outbox",
            paramLabel = "URI",
            description = "Show the outbox in this database, such as jdbc:postgresql://db/app, too: shards, leaders,"
                    + " backlog, what is parked and blocked; and the order to requeue. If no backend is"
                    + " named, nothing but the outbox is shown.")
    private Optional<String> outbox = Optional.empty();

    @Option(names = "--table", paramLabel = "NAME", description = "The table of the outbox. Default: outbox.")
    private Optional<String> table = Optional.empty();

    @Option(names = "--read-only", description = "Take no orders at all.")
    private boolean readOnly;

    @Option(
            names = "--refresh",
            paramLabel = "TIME",
            defaultValue = "2s",
            description = "How often to look for new elections, and at the outbox. Default: 2s. Changes of leaders come"
                    + " as they happen.")
    private Duration refresh = Duration.ofSeconds(2);

    @Option(names = "--for", paramLabel = "TIME", description = "Stop after this time. Default: at Ctrl-C.")
    private Optional<Duration> time = Optional.empty();

    public ConsoleCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        var place = listen.place(port);
        if (table.isPresent() && outbox.isEmpty()) {
            throw new UsageException("--table names the table of an outbox: say where it is with --outbox jdbc:...");
        }
        var feed = new Feed();
        var clock = new PageClock();
        var relayed = Optional.<OutboxMonitor>empty();
        if (outbox.isPresent()) {
            var database = new OutboxMonitor.Place(outbox.get(), table.orElse("outbox"), target.timeout());
            relayed = Optional.of(OutboxMonitor.start(database, feed, clock, refresh, readOnly));
        }
        if (relayed.isPresent() && !target.isNamed()) {
            var only = relayed.get();
            return serve(place, feed, clock, only, "The outbox " + table.orElse("outbox"), only::look);
        }
        var uri = target.uri();
        try (var connected = target.connect(uri);
                var lookout = new ElectionMonitor(connected.elections(), feed, clock, uri.toString(), readOnly)) {
            if (relayed.isEmpty()) {
                return serve(place, feed, clock, lookout, "The elections on " + uri, lookout::look);
            }
            var beside = relayed.get();
            var title = "The elections on " + uri + " and the outbox " + table.orElse("outbox");
            return serve(place, feed, clock, new Both(lookout, beside), title, () -> {
                lookout.look();
                beside.look();
            });
        }
    }

    /** Looks again. */
    private interface Look {
        void look() throws Exception;
    }

    /** Passes each order to the part that it is for. */
    private record Both(PageServer.Orders elections, PageServer.Orders outbox) implements PageServer.Orders {
        @Override
        public void order(Map<String, String> words) throws IOException, InterruptedException {
            (words.getOrDefault("action", "").startsWith("requeue") ? outbox : elections).order(words);
        }

        @Override
        public String look(Map<String, String> words) {
            return elections.look(words);
        }
    }

    private int serve(
            LocalHttp.Place place, Feed feed, PageClock clock, PageServer.Orders orders, String title, Look again)
            throws Exception {
        try (var page = PageServer.start(place, feed, clock::now, orders)) {
            var atExit = ExitHook.add("bellwether-console-end", page::close); // so that those who look are told
            try {
                var paint = new Paint(around.colours());
                around.out().println(title + ":  " + paint.strong(readOnly ? page.address() : page.url()));
                return lookAgainAndAgain(again);
            } finally {
                atExit.close();
            }
        }
    }

    private int lookAgainAndAgain(Look again) throws Exception {
        var end = System.nanoTime() + time.orElse(Duration.ofDays(36_500)).toNanos();
        while (true) {
            again.look();
            var left = end - System.nanoTime();
            if (left <= 0) {
                return ExitCode.OK;
            }
            TimeUnit.NANOSECONDS.sleep(Math.min(left, refresh.toNanos()));
        }
    }
}
