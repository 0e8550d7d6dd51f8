package dev.bellwether.outbox;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.Undertaker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A MariaDB or MySQL of the tests' own, which can be killed, frozen and started again. Confined to one thread at a time. */
final class MysqlFamilyServer {
    private static final Map<Kind, MysqlFamilyServer> SHARED = new EnumMap<>(Kind.class); // they end with this JVM

    /** Which server, and by what it shows who writes. */
    enum Kind {
        /** MariaDB with the plugin metadata_lock_info. */
        MARIADB,
        /** MariaDB with the performance schema and its instrument for metadata locks. */
        MARIADB_SCHEMA,
        /** MariaDB as it comes: nothing shows who writes. */
        MARIADB_PLAIN,
        /** MySQL, which shows it as it comes. */
        MYSQL;

        private boolean isMysql() {
            return this == MYSQL;
        }
    }

    private final Kind kind;
    private final Path folder;
    private final String program;
    private final int port;
    private Process server;
    private Process undertaker;

    private MysqlFamilyServer(Kind kind, Path folder) throws IOException {
        this.kind = kind;
        this.folder = folder;
        program = Scripts.where(kind.isMysql() ? "mysqld" : "mariadbd");
        port = Ports.free();
        bootstrap();
        server = launch();
        undertaker = Undertaker.watch(server.pid());
        awaitAnswer();
        try (var connection = DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root");
                var statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE bellwether");
        } catch (SQLException e) {
            throw new IllegalStateException("no database", e);
        }
    }

    /** Returns the MariaDB that tests share. */
    static MysqlFamilyServer shared() {
        return shared(Kind.MARIADB);
    }

    static synchronized MysqlFamilyServer shared(Kind kind) {
        return SHARED.computeIfAbsent(kind, MysqlFamilyServer::start);
    }

    static MysqlFamilyServer start(Kind kind) {
        try {
            return new MysqlFamilyServer(
                    kind, Files.createTempDirectory("bellwether-" + kind.name().toLowerCase(Locale.ROOT)));
        } catch (IOException e) {
            throw new UncheckedIOException(kind + " did not start", e);
        }
    }

    /** Ends it; the shared ones end with the JVM. */
    void stop() {
        undertaker.destroy();
        server.destroyForcibly();
    }

    int port() {
        return port;
    }

    String uri() {
        return uri(port);
    }

    /** Returns how to reach it by another port: that of a proxy. */
    static String uri(int port) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/bellwether?user=root";
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(uri());
    }

    /** Kills it without a word, and starts it again with what it had on disk. */
    void crashAndRestart() {
        undertaker.destroy();
        Undertaker.signal("KILL", server.pid());
        try {
            server.waitFor();
            server = launch();
        } catch (IOException e) {
            throw new UncheckedIOException(kind + " did not start again", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        undertaker = Undertaker.watch(server.pid());
        awaitAnswer();
    }

    void pause() {
        Undertaker.signal("STOP", server.pid());
    }

    void resume() {
        Undertaker.signal("CONT", server.pid());
    }

    private void bootstrap() throws IOException {
        if (kind.isMysql()) {
            complete(new ProcessBuilder(command("--initialize-insecure")));
            return;
        }
        Files.createDirectory(folder.resolve("data"));
        var script = new StringBuilder("""
                create database if not exists mysql;
                use mysql;
                set @auth_root_socket=NULL;
                set @skip_auth_anonymous=1;
                """);
        var share = Path.of(Scripts.where("mariadb-share"));
        for (var part :
                List.of("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")) {
            script.append(Files.readString(share.resolve(part)));
        }
        var input = Files.writeString(folder.resolve("bootstrap.sql"), script);
        complete(new ProcessBuilder(command("--bootstrap")).redirectInput(input.toFile()));
    }

    private void complete(ProcessBuilder bootstrap) throws IOException {
        var process = bootstrap
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("bootstrap.log").toFile())
                .start();
        try {
            if (process.waitFor() != 0) {
                throw new IOException("no data: " + Files.readString(folder.resolve("bootstrap.log")));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Process launch() throws IOException {
        var options = new ArrayList<>(List.of(
                "--socket=" + folder.resolve("s"),
                "--pid-file=" + folder.resolve("pid"),
                "--bind-address=127.0.0.1",
                "--port=" + port,
                // it is the process that we kill, not the machine: the system has what was written
                "--innodb-flush-log-at-trx-commit=2"));
        options.addAll(showing());
        return new ProcessBuilder(command(options.toArray(String[]::new)))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        folder.resolve("server.log").toFile()))
                .start();
    }

    private List<String> showing() {
        return switch (kind) {
            case MARIADB ->
                List.of(
                        "--plugin-dir=" + Scripts.where("mariadb-plugins"),
                        "--plugin-load-add=metadata_lock_info",
                        "--max-connections=300");
            case MARIADB_SCHEMA ->
                List.of(
                        "--performance-schema=ON",
                        "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON",
                        "--max-connections=300");
            case MARIADB_PLAIN -> List.of("--max-connections=300");
            case MYSQL -> List.of("--mysqlx=OFF", "--max-connections=300");
        };
    }

    private List<String> command(String... options) {
        var command = new ArrayList<>(List.of(
                program,
                "--no-defaults",
                "--datadir=" + folder.resolve("data"),
                kind.isMysql() ? "--innodb-redo-log-capacity=32M" : "--innodb-log-file-size=8M"));
        if (System.getProperty("user.name").equals("root")) {
            command.add("--user=root");
        }
        command.addAll(List.of(options));
        return command;
    }

    private void awaitAnswer() {
        Eventually.eventually(kind + " answers", Duration.ofSeconds(60), () -> {
            try (var connection = DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root")) {
                return connection.isValid(1);
            } catch (SQLException e) {
                return false; // starting up
            }
        });
    }
}
