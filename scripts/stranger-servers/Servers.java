import dev.bellwether.testkit.kafka.KafkaBrokers;
import dev.bellwether.testkit.servers.Ports;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;

/**
 * A PostgreSQL and a Kafka broker for {@code scripts/stranger}, on the loopback. Writes their addresses into the file
 * that it is given, and ends when its input does.
 */
final class Servers {
    private Servers() {}

    public static void main(String[] args) throws IOException {
        var file = Path.of(args[0]);
        var port = Ports.free();
        try (var brokers = KafkaBrokers.start(1);
                var database = EmbeddedPostgres.builder()
                        .setPort(port)
                        .setPGStartupWait(Duration.ofSeconds(60))
                        .setServerConfig("fsync", "off")
                        .start()) {
            var draft = Files.writeString(
                    file.resolveSibling("draft"), "127.0.0.1:" + database.getPort() + ' ' + brokers.bootstrap() + '\n');
            Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
            while (System.in.read() >= 0) {
                // until the process that started this ends
            }
        }
    }
}
