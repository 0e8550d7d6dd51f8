package dev.bellwether.cli;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Names;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Finding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Optional;
import picocli.CommandLine.Option;

/** The options that say which backend. */
final class Target {
    private final Surroundings around;

    @Option(
            names = "--on",
            paramLabel = "URI",
            description =
                    "The backend, such as jdbc:postgresql://db/app, kafka://broker:9092 or nats://host:4222. A secret in it may stand as"
                            + " $${env:NAME} or $${file:/path}, in single quotes. Default: BELLWETHER_ON, else an SQLite file of"
                            + " your own.")
    private Optional<String> on = Optional.empty();

    @Option(
            names = "--on-file",
            paramLabel = "FILE",
            description = "Read that URI from a file, to keep it off the process list.")
    private Optional<Path> onFile = Optional.empty();

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            defaultValue = "5s",
            description = "Wait so long for an answer. Default: 5s.")
    private Duration timeout = Duration.ofSeconds(5);

    Target(Surroundings around) {
        this.around = around;
    }

    /** Returns where to connect. */
    ConnectUri uri() {
        if (on.isPresent() && onFile.isPresent()) {
            throw new UsageException("--on and --on-file both name a backend: give one of them");
        }
        var text = on.or(() -> onFile.map(Target::read)).or(() -> around.variable("BELLWETHER_ON"));
        if (text.isEmpty()) {
            return embedded();
        }
        try {
            var uri = ConnectUri.parse(text.get());
            if (uri.scheme().equals("memory") && !around.memoryAllowed()) {
                throw new UsageException(
                        "memory: lives and ends with one process, so that no two commands could meet there: leave"
                                + " the backend away for an SQLite file, or name one such as jdbc:sqlite:/path/elections.db");
            }
            return uri;
        } catch (ElectionException e) {
            throw new UsageException(e.getMessage() == null ? "the URI is malformed" : e.getMessage(), e);
        }
    }

    /** Connects. */
    Elections connect() {
        return connect(uri());
    }

    Elections connect(ConnectUri uri) {
        return connect(uri.connect());
    }

    Elections connect(Backend backend) {
        return Elections.over(
                backend, ElectionsConfig.builder().requestTimeout(timeout).build());
    }

    /** Tells on standard error what is wrong with the infrastructure. */
    void warn(Backend backend) {
        backend.findings(CandidacyConfig.defaults()).stream()
                .filter(finding -> finding.level() != Finding.Level.OK)
                .forEach(finding -> around.err()
                        .println("bellwether: warning: " + backend.describe() + ": " + finding.says() + "; "
                                + finding.remedy()));
    }

    /** Returns an election, having checked its name. */
    static Election election(Elections elections, String name) {
        return elections.election(checked(name));
    }

    /** Returns the name of an election, if it can be one. */
    static String checked(String name) {
        try {
            return Names.election(name);
        } catch (ElectionException e) {
            throw new UsageException(String.valueOf(e.getMessage()), e);
        }
    }

    private ConnectUri embedded() {
        var home = around.home().toAbsolutePath();
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
