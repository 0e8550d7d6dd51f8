package dev.bellwether.nats;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.bellwether.testkit.Eventually;
import dev.bellwether.testkit.faults.BenchEnvironment;
import io.nats.client.Connection;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.PurgeOptions;
import io.nats.client.api.StreamInfoOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;

/** Does harm to all keys of a bucket, and asks again until the servers have answered. */
final class BucketHarm implements BenchEnvironment.Records {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<String> servers;
    private final String bucket;

    BucketHarm(String servers, String bucket) {
        this.servers = List.of(servers.split(",", -1));
        this.bucket = bucket;
    }

    @Override
    public void drop() {
        toAll((connection, management, subject) -> management.purgeStream(stream(), PurgeOptions.subject(subject)));
    }

    @Override
    public void delete() {
        toAll((connection, management, subject) ->
                connection.keyValue(bucket).delete(subject.substring(prefix().length())));
    }

    @Override
    public void spoil() {
        toAll((connection, management, subject) -> connection.jetStream().publish(subject, "garbage".getBytes(UTF_8)));
    }

    private interface Harm {
        void to(Connection connection, JetStreamManagement management, String subject)
                throws IOException, JetStreamApiException;
    }

    private void toAll(Harm harm) {
        Eventually.eventually("the keys of " + bucket + " are hurt", PATIENCE, () -> {
            try (var admin = Admin.of(BucketClient.ourOptions()
                    .servers(servers.toArray(String[]::new))
                    .build())) {
                var management = admin.connection().jetStreamManagement();
                var keys = StreamInfoOptions.filterSubjects(prefix() + '>');
                for (var subject : management
                        .getStreamInfo(stream(), keys)
                        .getStreamState()
                        .getSubjects()) {
                    harm.to(admin.connection(), management, subject.getName());
                }
                return true;
            } catch (UncheckedIOException | IllegalStateException | IOException | JetStreamApiException e) {
                return false; // the servers are away just now
            }
        });
    }

    private String stream() {
        return "KV_" + bucket;
    }

    private String prefix() {
        return "$KV." + bucket + '.';
    }
}
