package dev.bellwether.cli.console;

import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.cli.page.ListenOptions;
import dev.bellwether.cli.page.PageServer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code bellwether console} */
@Command(
        name = "console",
        header = "Serve a page that shows all elections of a backend, live.",
        descriptionHeading = "%n",
        description =
                "Leaders, tokens, candidates, changes and vacancies, with a search over thousands of elections; and the order to stand"
                        + " down, for whoever has the token that is printed at the start.",
        synopsisHeading = "%nUsage: ",
        optionListHeading = "%nOptions:%n",
        sortOptions = false,
        footerHeading = "%nExamples:%n",
        footer = {
            "  bellwether console --on kafka://broker:9092",
            "  bellwether console --on-file /run/secrets/elections --read-only --listen 0.0.0.0 --port 8080 --host ops.example"
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

    @Option(names = "--read-only", description = "Take no orders at all.")
    private boolean readOnly;

    @Option(
            names = "--refresh",
            paramLabel = "TIME",
            defaultValue = "2s",
            description = "How often to look for new elections. Default: 2s. Changes of leaders come as they happen.")
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
        var uri = target.uri();
        var feed = new Feed();
        try (var connected = target.connect(uri);
                var lookout = new ElectionMonitor(connected.elections(), feed, uri.toString(), readOnly);
                var page = PageServer.start(place, feed, lookout::now, lookout)) {
            var paint = new Paint(around.colours());
            around.out()
                    .println("The elections on " + uri + ":  " + paint.strong(readOnly ? page.address() : page.url()));
            var end = System.nanoTime() + time.orElse(Duration.ofDays(36_500)).toNanos();
            while (true) {
                lookout.look();
                var left = end - System.nanoTime();
                if (left <= 0) {
                    return ExitCode.OK;
                }
                TimeUnit.NANOSECONDS.sleep(Math.min(left, refresh.toNanos()));
            }
        }
    }
}
