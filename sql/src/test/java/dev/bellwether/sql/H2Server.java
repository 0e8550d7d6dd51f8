package dev.bellwether.sql;

import dev.bellwether.fixtures.DatabaseServer;
import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.servers.Ports;
import dev.bellwether.testkit.servers.ProcessReaper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;

/** A server of H2 in a process of its own, with its databases in a folder. Confined to one thread at a time. */
final class H2Server implements DatabaseServer {
    private final Path folder;
    private final int port = Ports.free();
    private Process server;
    private Process undertaker;

    H2Server(Path folder) {
        this.folder = folder;
        server = launch();
        undertaker = ProcessReaper.watch(server.pid());
        awaitAnswer();
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public String uri() {
        return uri(port);
    }

    /** Returns how to reach it by another port: that of a proxy. */
    static String uri(int port) {
        return "jdbc:h2:tcp://127.0.0.1:" + port + "/elections;WRITE_DELAY=0";
    }

    @Override
    public void pause() {
        ProcessReaper.signal("STOP", server.pid());
    }

    @Override
    public void resume() {
        ProcessReaper.signal("CONT", server.pid());
    }

    @Override
    public void kill() {
        end("KILL");
    }

    /** Lets it write what it has. */
    void stop() {
        end("TERM");
    }

    private void end(String signal) {
        undertaker.destroy();
        ProcessReaper.signal(signal, server.pid());
        server.onExit().join();
    }

    @Override
    public void startAgain() {
        server = launch();
        undertaker = ProcessReaper.watch(server.pid());
        awaitAnswer();
    }

    private Process launch() {
        try {
            return new ProcessBuilder(
                            ProcessHandle.current().info().command().orElseThrow(),
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("java.class.path"),
                            "org.h2.tools.Server",
                            "-tcp",
                            "-tcpPort",
                            Integer.toString(port),
                            "-ifNotExists",
                            "-baseDir",
                            folder.toAbsolutePath().toString())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("H2 did not start", e);
        }
    }

    private void awaitAnswer() {
        Eventually.eventually("H2 answers", Duration.ofSeconds(60), () -> {
            try (var connection = DriverManager.getConnection(uri())) {
                return connection.isValid(1);
            } catch (SQLException e) {
                return false; // starting up
            }
        });
    }

    @Override
    public void close() {
        kill();
    }
}
