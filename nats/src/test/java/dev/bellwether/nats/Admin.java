package dev.bellwether.nats;

import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.Nats;
import io.nats.client.Options;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/** A plain connection of the tests' own, to look behind the elections and to do harm to them. */
final class Admin implements AutoCloseable {
    private final Connection connection;

    private Admin(Connection connection) {
        this.connection = connection;
    }

    /** Connects to this server and no other. */
    static Admin of(int port) {
        return of(BucketClient.ourOptions()
                .server("nats://127.0.0.1:" + port)
                .ignoreDiscoveredServers()
                .build());
    }

    /** Connects as these say. */
    static Admin of(Options options) {
        try {
            return new Admin(Nats.connect(options));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    Connection connection() {
        return connection;
    }

    /** What is asked of JetStream. */
    interface Question<T> {
        @Nullable
        T ask(Connection connection) throws IOException, JetStreamApiException, InterruptedException;
    }

    /** Asks, and fails if that does not work. */
    <T> T ask(Question<T> question) {
        try {
            var answer = question.ask(connection);
            if (answer == null) {
                throw new IllegalStateException("no answer");
            }
            return answer;
        } catch (IOException | JetStreamApiException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
