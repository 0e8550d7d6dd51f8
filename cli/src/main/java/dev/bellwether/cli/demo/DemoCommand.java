package dev.bellwether.cli.demo;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Text;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.cli.page.Feed;
import dev.bellwether.cli.page.ListenOptions;
import dev.bellwether.cli.page.LocalHttp;
import dev.bellwether.cli.page.PageServer;
import dev.bellwether.spi.ConnectUri;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bellwether demo} */
@Command(
        name = "demo",
        header = "Kill the leader, and watch the election survive it: on this machine, with nothing set up.",
        description =
                "Starts a Kafka broker and three candidates, each a process of its own, and a page on which you see"
                        + " who leads, in true time, and can kill, freeze, cut off and slow each of them. Nothing is"
                        + " left running.",
        footer = {
            "  bellwether demo",
            "  bellwether demo --tour                  a script does what you would do, and checks the effects",
            "  bellwether demo --on sqlite --for 20s   an SQLite file: no broker, and no network to cut",
            "",
            "Exit codes: 0 all right; 1 two led at once, or a step of the tour went wrong."
        })
public final class DemoCommand implements Callable<Integer> {
    private static final int CANDIDATES = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(5);
    private static final long BETWEEN_LOOKS_MILLIS = 10;

    private final CommandEnvironment around;
    private final Class<?> main;
    private final long began = System.nanoTime();

    @Option(
            names = "--on",
            paramLabel = "BACKEND",
            defaultValue = "kafka",
            description = "kafka or sqlite, started for it; or the URI of one that runs. Default: kafka.")
    private String on = "kafka";

    @Option(names = "--for", paramLabel = "TIME", description = "Stop after this time. Default: at Ctrl-C.")
    private Optional<Duration> time = Optional.empty();

    @Option(
            names = "--lease",
            paramLabel = "TIME",
            defaultValue = "2s",
            description = "How long the seat stays taken after a crash. Default: 2s.")
    private Duration lease = Duration.ofSeconds(2);

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "0",
            description = "Where the page listens, on the loopback. Default: a free port.")
    private int port;

    @Option(names = "--tour", description = "Play a script, check what follows, and end.")
    private boolean tour;

    @Option(names = "--json", description = "With --tour: print one JSON document at the end.")
    private boolean json;

    public DemoCommand(CommandEnvironment around, Class<?> main) {
        this.around = around;
        this.main = main;
    }

    @Override
    public Integer call() throws Exception {
        if (json && !tour) {
            throw new UsageException("--json is for --tour");
        }
        ListenOptions.requirePort(port);
        var unused = BackendOptions.settings(() -> CandidacyConfig.ofLease(lease)); // or no candidate would stand
        var given = on.equals("kafka") || on.equals("sqlite") ? Optional.<ConnectUri>empty() : Optional.of(uri());
        var election = given.isPresent()
                ? "demo-" + Integer.toHexString(ThreadLocalRandom.current().nextInt(0x10000, 0x1000000))
                : "demo";
        if (given.isPresent()) {
            requireAnswer(given.get());
        }
        var folder = Files.createTempDirectory("bellwether-demo-"); // before the terminal is set: it may fail
        var keys = tour ? Optional.<KeyPresses>empty() : KeyPresses.each(around);
        try (var props = DemoCleanup.in(folder, keys)) {
            say(
                    DemoCluster.Tone.FAINT,
                    given.isPresent()
                            ? "connecting to " + given.get()
                            : on.equals("kafka") ? "starting a Kafka broker" : "making an SQLite file");
            var engine = props.keep(engine(given, election, props.folder()));
            say(DemoCluster.Tone.FAINT, "starting " + CANDIDATES + " candidates on " + engine.describe());
            var orders = new DemoProcess.Orders(main, election, lease, props.folder());
            var feed = new Feed();
            var scene = props.keep(
                    new DemoCluster(engine, orders, feed, note -> say(note.nanos(), note.tone(), note.text())));
            return tour ? tour(scene, engine) : show(scene, engine, feed, props);
        }
    }

    /** Candidates would wait for a server forever, and nobody would see why. */
    private static void requireAnswer(ConnectUri uri) throws Exception {
        var asked = new Bounded(PATIENCE, () -> BackendOptions.late(uri, PATIENCE))
                .open(() -> Elections.over(uri.connect(), ElectionsConfig.defaults()));
        Bounded.farewell(asked::close);
    }

    private ConnectUri uri() {
        try {
            var uri = ConnectUri.parse(on);
            uri.check();
            if (uri.scheme().equals("memory")) {
                throw new UsageException("memory: lives in one process, and the candidates of the demo are processes");
            }
            return uri;
        } catch (ElectionException e) {
            throw new UsageException("--on: " + e.getMessage() + "; or say kafka or sqlite", e);
        }
    }

    private Engine engine(Optional<ConnectUri> given, String election, Path folder) throws IOException {
        if (given.isPresent()) {
            return GivenEngine.on(given.get(), election);
        }
        return on.equals("kafka") ? KafkaEngine.start(folder) : new FileEngine(folder);
    }

    private int tour(DemoCluster scene, Engine engine) throws IOException, InterruptedException {
        for (var i = 0; i < CANDIDATES; i++) {
            scene.startNext();
        }
        var steps = new Tour(scene, engine, lease, this::tell).play();
        var overlap = scene.overlapNanos();
        var ok =
                overlap == 0 && steps.stream().allMatch(step -> step.complaint().isEmpty());
        if (json) {
            around.out().println(document(steps, overlap, ok));
        } else {
            around.out().println("overlap: " + overlap + " ns");
        }
        return ok ? ExitCode.OK : ExitCode.FAILED;
    }

    private void tell(Tour.Step step) {
        if (!json) {
            var paint = new Paint(around.colours());
            var what = step.complaint().map(paint::bad).orElse(step.outcome());
            var vacancy = step.vacancyNanos()
                    .map(nanos -> ", vacant for " + Text.millis(nanos))
                    .orElse("");
            around.out().println(paint.strong("%-16s".formatted(step.name())) + " " + what + vacancy);
        }
    }

    private static String document(List<Tour.Step> steps, long overlap, boolean ok) {
        return Json.object(json -> {
            json.writeArrayFieldStart("steps");
            for (var step : steps) {
                json.writeStartObject();
                json.writeStringField("step", step.name());
                json.writeStringField("outcome", step.outcome());
                if (step.vacancyNanos().isPresent()) {
                    json.writeNumberField("vacancyMillis", step.vacancyNanos().get() / 1000 / 1e3);
                }
                if (step.complaint().isPresent()) {
                    json.writeStringField("complaint", step.complaint().get());
                }
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeNumberField("overlapNanos", overlap);
            json.writeBooleanField("ok", ok);
        });
    }

    private int show(DemoCluster scene, Engine engine, Feed feed, DemoCleanup props)
            throws IOException, InterruptedException {
        var place = new LocalHttp.Place(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), List.of());
        var page = props.keep(PageServer.start(place, feed, scene::now, words -> order(scene, words)));
        for (var i = 0; i < CANDIDATES; i++) {
            scene.startNext();
        }
        var paint = new Paint(around.colours());
        around.out().println();
        around.out().println("  See it, and kill the leader:  " + paint.strong(page.url()));
        around.out().println();
        around.out().println(paint.faint("  From another terminal:  bellwether watch --on " + engine.shownUri()));
        new DemoKeys(around, scene, engine, props::end).start(props.hearsEachKey());
        around.out().println();
        var end = System.nanoTime() + time.orElse(Duration.ofDays(36_500)).toNanos();
        while (!props.isOver() && end - System.nanoTime() > 0) {
            scene.look();
            TimeUnit.MILLISECONDS.sleep(BETWEEN_LOOKS_MILLIS);
        }
        around.out().println("overlap: " + scene.overlapNanos() + " ns");
        return scene.overlapNanos() == 0 ? ExitCode.OK : ExitCode.FAILED;
    }

    private static void order(DemoCluster scene, Map<String, String> words) throws IOException, InterruptedException {
        var id = words.getOrDefault("action", "");
        var action = Action.of(id).orElseThrow(() -> new IllegalArgumentException("there is no action \"" + id + "\""));
        scene.act(action, Optional.ofNullable(words.get("name")));
    }

    private void say(DemoCluster.Tone tone, String text) {
        say(System.nanoTime(), tone, text);
    }

    private void say(long nanos, DemoCluster.Tone tone, String text) {
        if (json) {
            return;
        }
        var paint = new Paint(around.colours());
        var millis = (nanos - began) / 1_000_000;
        var painted = switch (tone) {
            case GOOD -> paint.good(text);
            case BAD -> paint.bad(text);
            case PLAIN -> text;
            case FAINT -> paint.faint(text);
        };
        around.out().println(paint.faint("%3d.%03d  ".formatted(millis / 1000, millis % 1000)) + painted);
    }
}
