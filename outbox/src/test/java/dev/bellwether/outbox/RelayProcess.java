package dev.bellwether.outbox;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.fixtures.ChildProcess;

/** A {@link RelayMain} that runs, and what it has said. */
final class RelayProcess implements AutoCloseable {
    private final ChildProcess process;

    RelayProcess(String... arguments) {
        process = ChildProcess.start(RelayMain.class, arguments);
    }

    void await(String line) {
        var ignored = process.await(line);
    }

    long count(String line) {
        return process.said().stream().filter(line::equals).count();
    }

    void awaitDeath() {
        assertThat(process.ends()).as("the relay dies; it said " + process).isTrue();
    }

    void resume() {
        process.thaw();
    }

    @Override
    public void close() {
        process.kill();
    }
}
