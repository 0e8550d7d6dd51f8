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

    /** Writes more to this key than a server sends before it waits for a word. */
    void overwrite(String bucket, String key) {
        ask(connection -> {
            var keys = connection.keyValue(bucket);
            for (var i = 0; i < 800; i++) {
                keys.put(key, new byte[10_000]);
            }
            return true;
        });
    }

    /** Returns whether this key of a stream is watched. */
    boolean isWatched(String stream, String key) {
        return ask(connection -> connection.jetStreamManagement().getConsumers(stream).stream()
                .anyMatch(consumer -> String.valueOf(
                                consumer.getConsumerConfiguration().getFilterSubject())
                        .endsWith('.' + key)));
    }

    /** Returns whether a consumer of this stream has been told all that was written. */
    boolean isAllTold(String stream) {
        return ask(connection -> {
            var management = connection.jetStreamManagement();
            var last = management.getStreamInfo(stream).getStreamState().getLastSequence();
            return management.getConsumers(stream).stream()
                    .anyMatch(consumer -> consumer.getDelivered().getStreamSequence() >= last);
        });
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
