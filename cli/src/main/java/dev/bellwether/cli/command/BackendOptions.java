package dev.bellwether.cli.command;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Metrics;
import dev.bellwether.Names;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.Finding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.Supplier;
import picocli.CommandLine.Option;

/** The options that say which backend. */
public final class BackendOptions {
    /** How long the network is looked at, once a backend has not answered. */
    private static final Duration LOOK = Duration.ofMillis(300);

    private final CommandEnvironment around;
    private Consumer<String> onOutage = what -> {};

    @Option(
            names = "--on",
            paramLabel = "URI",
            description = "The backend, such as jdbc:postgresql://db/app, kafka://broker:9092 or nats://host:4222. A"
                    + " secret in it may be written as $${env:NAME} or $${file:/path}, in single quotes."
                    + " Default: BELLWETHER_ON, else an SQLite file of your own.")
    private Optional<String> on = Optional.empty();

    @Option(
            names = "--on-file",
            paramLabel = "FILE",
            description = "Read that URI from a file, to keep it off the process list.")
    private Optional<Path> onFile = Optional.empty();

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            description = "Wait this long for the backend: in all, or if the verb goes on (run, file, serve, watch,"
                    + " console), to connect and for each request after that. Default: 5s; doctor, which asks each"
                    + " server: 20s.")
    private Optional<Duration> timeout = Optional.empty();

    private final Duration usual;
    private Optional<String> inFile = Optional.empty();

    public BackendOptions(CommandEnvironment around) {
        this(around, Duration.ofSeconds(5));
    }

    /** Waits so long unless told otherwise. */
    public BackendOptions(CommandEnvironment around, Duration usual) {
        this.around = around;
        this.usual = usual;
    }

    /**
     * Returns where to connect.
     *
     * @throws UsageException if the URI is wrong, whatever the backend says
     */
    public ConnectUri uri() {
        if (on.isPresent() && onFile.isPresent()) {
            throw new UsageException("--on and --on-file both name a backend: give one of them");
        }
        inFile = onFile.map(BackendOptions::read);
        var text = on.or(() -> inFile).or(() -> around.variable("BELLWETHER_ON"));
        if (text.isEmpty()) {
            return embedded();
        }
        try {
            var uri = ConnectUri.parse(text.get());
            refuseConnectorJ(uri);
            if (uri.scheme().equals("memory") && !around.memoryAllowed()) {
                throw new UsageException(
                        "memory: lives and ends with one process, so no two commands could share it: leave the"
                                + " backend out for an SQLite file, or name one such as"
                                + " jdbc:sqlite:/path/elections.db");
            }
            uri.check();
            return uri;
        } catch (ElectionException e) {
            throw new UsageException(e.getMessage() == null ? "the URI is malformed" : e.getMessage(), e);
        }
    }

    /**
     * Refuses what needs a driver that this command has not.
     *
     * @throws UsageException if it does, saying what to write
     */
    public static void refuseConnectorJ(ConnectUri uri) {
        if (uri.toString().toLowerCase(Locale.ROOT).matches("(?s)(jdbc:)?mysql:.*")) {
            throw new UsageException(uri + ": for MySQL, too, this command has the driver of MariaDB: write"
                    + " jdbc:mariadb://host/database");
        }
    }

    /** Connects, within the timeout; what is asked then has the rest of it. */
    public Connected connect() throws Exception {
        return connect(uri());
    }

    public Connected connect(ConnectUri uri) throws Exception {
        return connect(uri, timeout());
    }

    /** Connects within this time, and no longer than the timeout. */
    public Connected connect(ConnectUri uri, Duration within) throws Exception {
        var timeout = timeout();
        var bound = within.compareTo(timeout) < 0 ? within : timeout;
        var began = System.nanoTime();
        return new Bounded(bound, () -> late(uri, bound)).open(() -> {
            var backend = uri.connect();
            var config = ElectionsConfig.builder().requestTimeout(timeout).metrics(outages(uri));
            var elections = Elections.over(backend, config.build());
            return new Connected(backend, elections, timeout, began, () -> late(uri, timeout));
        });
    }

    /** Has this told when the backend stops answering anybody who stands, and when it answers again. */
    public void onOutage(Consumer<String> told) {
        onOutage = told;
    }

    private Metrics outages(ConnectUri uri) {
        return new Metrics() {
            @Override
            public void outageBegan(String what) {
                onOutage.accept(uri.redact(what) + ". Trying again");
            }

            @Override
            public void outageEnded(Duration length) {
                tellOutageEnded(length);
            }
        };
    }

    /** Tells that, also of an outage at the start, when nobody stood. */
    public void tellOutageEnded(Duration length) {
        onOutage.accept("The outage is over, after " + CommandDurations.show(length));
    }

    /** Asks something of a backend without connecting beforehand. */
    public <T> T ask(ConnectUri uri, Callable<T> question) throws Exception {
        return new Bounded(timeout(), () -> late(uri, timeout())).ask(question);
    }

    /** Returns what was in the file that names the backend, if it has been read. */
    public Optional<String> inFile() {
        return inFile;
    }

    /** Returns whether a backend is named at all, by an option or the variable. */
    public boolean isNamed() {
        return on.isPresent()
                || onFile.isPresent()
                || around.variable("BELLWETHER_ON").isPresent();
    }

    /** Returns how long to wait for the backend. */
    public Duration timeout() {
        return timeout.orElse(usual);
    }

    /** Says that there was no answer in time, and what the network says about that. */
    public static String late(ConnectUri uri, Duration waited) {
        var servers = Endpoint.of(uri);
        return uri + " did not answer within " + CommandDurations.show(waited)
                + (servers.isEmpty() ? "" : ": " + Endpoint.complaints(servers, LOOK));
    }

    /** Builds settings; what they do not allow, the command line was wrong about. */
    public static CandidacyConfig settings(Supplier<CandidacyConfig> settings) {
        try {
            return settings.get();
        } catch (ElectionException e) {
            throw new UsageException(String.valueOf(e.getMessage()), e);
        }
    }

    /** Tells on standard error what is wrong with the infrastructure. */
    public void warn(Backend backend) {
        backend.findings(CandidacyConfig.defaults()).stream()
                .filter(finding -> finding.level() != Finding.Level.OK)
                .filter(finding -> !finding.about().equals("rights")) // anybody who looks needs no more than to look
                .forEach(finding -> around.complain(
                        "warning: " + backend.describe() + ": " + finding.says() + "; " + finding.remedy()));
    }

    /** Returns an election, having checked its name. */
    public static Election election(Elections elections, String name) {
        return elections.election(checked(name));
    }

    /** Returns the name of an election, if it can be one. */
    public static String checked(String name) {
        try {
            return Names.election(name);
        } catch (ElectionException e) {
            throw new UsageException(String.valueOf(e.getMessage()), e);
        }
    }

    private ConnectUri embedded() {
        var home = around.home()
                .orElseThrow(() -> new UsageException("this user has no home for the default backend: name a backend"
                        + " with --on, or a folder with BELLWETHER_HOME"))
                .toAbsolutePath();
        try {
            if (!Files.isDirectory(home)) {
                Files.createDirectories(
                        home, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
        } catch (IOException | UnsupportedOperationException e) {
            throw new UsageException(
                    "the folder " + home + " for the default backend cannot be made: name a backend with --on, or"
                            + " another folder with BELLWETHER_HOME",
                    e);
        }
        return ConnectUri.parse("jdbc:sqlite:" + home.resolve("elections.db"));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UsageException("--on-file: " + file + " cannot be read: it must hold the URI of the backend", e);
        }
    }
}
