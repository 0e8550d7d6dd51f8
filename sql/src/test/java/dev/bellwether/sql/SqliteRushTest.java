package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Many who open one fresh file at the same instant: each switches it to WAL and makes the tables, or finds that done.
 */
class SqliteRushTest {
    private static final int ROUNDS = 20;
    private static final int CONNECTIONS = 12;
    private static final int PROCESSES = 4;

    @TempDir
    private Path folder;

    private String uri(int round) {
        return "jdbc:sqlite:" + folder.resolve("fresh-" + round + ".db");
    }

    @Test
    void noneOfManyConnectionsOfOneProcessFails() throws Exception {
        var pool = Executors.newFixedThreadPool(CONNECTIONS);
        try {
            for (var round = 0; round < ROUNDS; round++) {
                var uri = uri(round);
                var barrier = new CyclicBarrier(CONNECTIONS);
                Callable<Void> rush = () -> {
                    barrier.await();
                    Elections.connect(uri).close();
                    return null;
                };
                for (var rusher : pool.invokeAll(Collections.nCopies(CONNECTIONS, rush))) {
                    rusher.get();
                }
            }
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void noneOfManyProcessesFails() throws Exception {
        var children = new ArrayList<Rusher>();
        try {
            for (var i = 0; i < PROCESSES; i++) {
                children.add(new Rusher());
            }
            for (var child : children) {
                assertThat(child.said()).isEqualTo("ready");
            }
            for (var round = 0; round < ROUNDS; round++) {
                for (var child : children) {
                    child.tell(uri(round));
                }
                for (var child : children) {
                    assertThat(child.said()).isEqualTo("opened");
                }
            }
        } finally {
            children.forEach(Rusher::close);
        }
    }

    /** A process that opens files as it is told. */
    private static final class Rusher implements AutoCloseable {
        private final Process process;
        private final BufferedReader lines;

        Rusher() throws IOException {
            process = new ProcessBuilder(List.of(
                            ProcessHandle.current().info().command().orElseThrow(),
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("java.class.path"),
                            SqliteRushMain.class.getName()))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        }

        void tell(String uri) {
            try {
                var input = process.getOutputStream();
                input.write((uri + "\n").getBytes(StandardCharsets.UTF_8));
                input.flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        String said() throws IOException {
            return String.valueOf(lines.readLine());
        }

        @Override
        public void close() {
            process.destroy(); // ends of itself with its input, if we do
        }
    }
}
