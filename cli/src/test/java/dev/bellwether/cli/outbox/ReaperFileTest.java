package dev.bellwether.cli.outbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.cli.Spoken;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReaperFileTest {
    @TempDir
    Path folder;

    @Test
    void fileOfTheOriginalIsTakenAsItIs() throws IOException {
        var file = file("""
                harvest:
                  baseKafkaConfig:
                    bootstrap.servers: b1:9092,b2:9092
                    sasl.mechanisms: SCRAM-SHA-512
                    sasl.username: me
                    sasl.password: it's "secret"
                  producerKafkaConfig:
                    compression.type: lz4
                    delivery.timeout.ms: 10000
                    socket.keepalive.enable: true
                  leaderTopic: my-app.neli
                  leaderGroupID: my-app
                  dataSource: host=db port=5433 user=app password='p w' dbname=shop sslmode=disable
                  outboxTable: outbox
                  limits:
                    minPollInterval: 1s
                    heartbeatTimeout: 5s
                    markBackoff: 10ms
                    maxInFlightRecords: 1000
                    sendConcurrency: 8
                    sendBuffer: 10
                logging:
                  level: Info
                """);
        assertThat(file.dataSource(Map.of()))
                .isEqualTo("jdbc:postgresql://db:5433/shop?user=app&password=p+w&sslmode=disable");
        assertThat(file.leaderTopic()).contains("my-app.neli");
        assertThat(file.level()).isEqualTo("info");
        assertThat(file.config().build().name()).isEqualTo("my-app");
        assertThat(file.kafka())
                .containsEntry("bootstrap.servers", "b1:9092,b2:9092")
                .containsEntry("sasl.mechanism", "SCRAM-SHA-512")
                .containsEntry("delivery.timeout.ms", 10000)
                .containsEntry(
                        "sasl.jaas.config",
                        "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"me\""
                                + " password=\"it's \\\"secret\\\"\";");
        assertThat(file.warnings())
                .anyMatch(warning -> warning.contains("sendConcurrency"))
                .anyMatch(warning -> warning.contains("sendBuffer"))
                .anyMatch(warning -> warning.contains("minPollInterval"))
                .anyMatch(warning -> warning.contains("socket.keepalive.enable"))
                .noneMatch(warning -> warning.contains("maxInFlightRecords"));
    }

    @Test
    void eachLimitOfTheOriginalIsTheSettingThatTakesItsPlace() throws IOException {
        var settings = file("""
                harvest:
                  name: shepherd
                  limits:
                    ioErrorBackoff: 700ms
                    heartbeatTimeout: 4s
                    markBackoff: 30ms
                    maxInFlightRecords: 1234
                    markQueryRecords: 77
                    minMetricsInterval: 9s
                """).config().build().toString();
        assertThat(settings)
                .contains("backoff=PT0.7S, maxBackoff=PT10S")
                .contains("lease=PT12S")
                .contains("minPoll=PT0.002S, maxPoll=PT0.03S")
                .contains("maxInFlightRecords=1234")
                .contains("maxTransactionRecords=77")
                .contains("meterInterval=PT9S")
                .contains("candidate=shepherd")
                .contains("partitioning=CRC32");
    }

    /** The later one would count alone, and the records would go to localhost. */
    @Test
    void aSectionThatIsThereTwiceIsRefused() throws IOException {
        var text = """
                harvest:
                  baseKafkaConfig:
                    bootstrap.servers: b1:9092
                  baseKafkaConfig:
                    security.protocol: sasl_ssl
                """;
        assertThatThrownBy(() -> file(text))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("line 4")
                .hasMessageContaining("duplicate key baseKafkaConfig");
    }

    @Test
    void keysStayInThePartitionsOfTheOriginalUnlessTheFileSaysOtherwise() throws IOException {
        assertThat(partitioner("")).contains("partitioning=CRC32");
        assertThat(partitioner("partitioner: consistent_random")).contains("partitioning=CRC32");
        assertThat(partitioner("partitioner: murmur2_random")).contains("partitioning=MURMUR2");
        assertThatThrownBy(() -> partitioner("partitioner: fnv1a_random")).hasMessageContaining("fnv1a_random");
        assertThatThrownBy(() -> partitioner("partitioner.class: x")).hasMessageContaining("partitioner.class");
    }

    private String partitioner(String line) throws IOException {
        return file("harvest:\n  producerKafkaConfig:\n    linger.ms: 1\n    " + line + "\n")
                .config()
                .build()
                .toString();
    }

    @Test
    void certificateOfAClientIsTakenOver() throws IOException {
        var certificate = Files.writeString(folder.resolve("client.crt"), "the certificate");
        var key = Files.writeString(folder.resolve("client.key"), "-----BEGIN PRIVATE KEY-----");
        var text = """
                harvest:
                  baseKafkaConfig:
                    security.protocol: ssl
                    ssl.ca.location: /etc/ca.pem
                    ssl.certificate.location: %s
                    ssl.key.location: %s
                    ssl.key.password: secret
                    ssl.endpoint.identification.algorithm: none
                """;
        var file = file(text.formatted(certificate, key));
        assertThat(file.kafka())
                .containsEntry("ssl.truststore.type", "PEM")
                .containsEntry("ssl.truststore.location", "/etc/ca.pem")
                .containsEntry("ssl.keystore.type", "PEM")
                .containsEntry("ssl.keystore.certificate.chain", "the certificate")
                .containsEntry("ssl.keystore.key", "-----BEGIN PRIVATE KEY-----")
                .containsEntry("ssl.key.password", "secret")
                .containsEntry("ssl.endpoint.identification.algorithm", "");
        assertThat(file.warnings()).isEmpty();
        var old = Files.writeString(folder.resolve("old.key"), "-----BEGIN RSA PRIVATE KEY-----");
        assertThatThrownBy(() -> file(text.formatted(certificate, old)).kafka())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("openssl pkcs8");
        assertThatThrownBy(
                        () -> file(text.formatted(folder.resolve("none"), key)).kafka())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("cannot be read");
    }

    @Test
    void unknownKeysAndBadValuesAreRefused() {
        assertThatThrownBy(() -> file("harvest:\n  limits:\n    maxInflight: 3\n"))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll(
                        "reaper.yaml: unknown key limits.maxInflight: known are ", "maxInFlightRecords");
        assertThatThrownBy(() -> file("harvester: {}\n"))
                .hasMessageEndingWith("reaper.yaml: unknown key harvester: known are harvest, logging, relay");
        assertThatThrownBy(() -> file("relay:\n  poison: skip\n").config()).hasMessageContaining("block-key");
        assertThatThrownBy(() ->
                        file("harvest:\n  limits:\n    markBackoff: soon\n").config())
                .hasMessageContaining("markBackoff is soon");
    }

    @Test
    void valueThatTheRelayRefusesIsAMistakeOfTheFileWhateverTheDatabaseSays() throws IOException {
        for (var wrong : List.of("shards: 100", "maxInFlightBytes: 3")) {
            var file = Files.writeString(
                    folder.resolve("reaper.yaml"),
                    "harvest:\n  dataSource: postgres://me@127.0.0.1:1/shop\nrelay:\n  " + wrong + "\n");

            var spoken = Spoken.of(Map.of(), "reap", "-f", file.toString());

            assertThat(spoken.err()).contains("it must be");
            assertThat(spoken.code()).as(spoken.err()).isEqualTo(ExitCode.USAGE);
        }
    }

    @Test
    void sectionOfOursIsUnderstoodAndOnIsNoTruth() throws IOException {
        var file = file("""
                relay:
                  on: jdbc:postgresql://db/app
                  shards: 3
                  createTables: false
                  maxInFlightBytes: 3000000000
                  lease: 3s
                """);
        assertThat(file.on()).contains("jdbc:postgresql://db/app");
        assertThat(file.config().build().toString()).contains("maxInFlightBytes=3000000000");
        assertThatThrownBy(() -> file("relay:\n  createTables: yes\n").config())
                .hasMessageContaining("createTables is yes");
        assertThat(file("relay:\n  form: rotated\n").config().build().toString())
                .contains("form=ROTATED");
        assertThat(file("relay:\n  retain: 8h\n").config().build().toString()).contains("retain=PT8H");
        assertThatThrownBy(() -> file("relay:\n  form: round\n").config())
                .hasMessage("relay.form is round: it must be plain or rotated");
        assertThat(file("relay:\n  once: true\n").config().build().toString()).contains("once=true");
        assertThat(file("relay:\n  wakeUp: false\n").config().build().toString())
                .contains("wakeUp=false");
        assertThatThrownBy(() -> file("relay:\n  once: 1\n").config()).hasMessageContaining("once is 1");
        assertThatThrownBy(() -> file("relay:\n  shards: many\n").config()).hasMessageContaining("shards is many");
    }

    @Test
    void emptyFileMeansTheDefaults() throws IOException {
        var file = file("");
        assertThat(file.dataSource(Map.of()))
                .isEqualTo("jdbc:postgresql://localhost:5432/postgres?user=postgres&sslmode=disable");
        assertThat(file.kafka()).isEqualTo(Map.of("bootstrap.servers", "localhost:9092"));
    }

    @Test
    void urlsOfGoAreUnderstood() {
        assertThat(jdbc("postgres://me:pw@db:5432/shop?sslmode=require"))
                .isEqualTo("jdbc:postgresql://db:5432/shop?sslmode=require&user=me&password=pw");
    }

    /** As in Go, where a query may hold an at sign. */
    @Test
    void anAtSignInAQueryMovesNoHost() {
        assertThat(jdbc("postgres://db/shop?user=me&password=p@w"))
                .isEqualTo("jdbc:postgresql://db/shop?user=me&password=p@w&sslmode=require");
        assertThat(jdbc("postgres://me:pw@db:5432/shop?application_name=billing@site-2"))
                .isEqualTo("jdbc:postgresql://db:5432/shop?ApplicationName=billing@site-2&user=me&password=pw"
                        + "&sslmode=require");
    }

    /** The database may be left out; and a slash of the query is none of a database. */
    @Test
    void theQueryBeginsWhereItDoesInGo() {
        assertThat(jdbc("postgres://db?user=me&sslmode=verify-full&sslrootcert=/etc/root.crt"))
                .isEqualTo("jdbc:postgresql://db/?user=me&sslmode=verify-full&sslrootcert=/etc/root.crt");
        assertThat(jdbc("postgres://me:p/w?@db/shop?sslmode=disable"))
                .isEqualTo("jdbc:postgresql://db/shop?sslmode=disable&user=me&password=p/w?");
    }

    @Test
    void anAddressOfIpv6IsInBrackets() {
        assertThat(jdbc("host=[::1] dbname=shop")).isEqualTo("jdbc:postgresql://[::1]:5432/shop?sslmode=require");
        assertThat(jdbc("host=::1 port=5433 user=me dbname=shop"))
                .isEqualTo("jdbc:postgresql://[::1]:5433/shop?user=me&sslmode=require");
    }

    /** PostgreSQL's driver for Java drops what it does not know: the relay would serve the table of another schema. */
    @Test
    void whatGoSetsInEachSessionIsSetHereToo() {
        assertThat(jdbc("host=db user=app dbname=shop search_path='ops, public' connect_timeout=5"
                        + " application_name='my app' lock_timeout=1s role=app binary_parameters=yes"))
                .isEqualTo("jdbc:postgresql://db:5432/shop?user=app&currentSchema=ops%2C+public&connectTimeout=5"
                        + "&ApplicationName=my+app&options=-c+lock_timeout%3D1s+-c+role%3Dapp&sslmode=require");
        assertThat(jdbc("postgres://me:p%40w@db/shop?search_path=ops&options=-c%20geqo%3Doff"
                        + "&connect_timeout=5&role=the%20ops&sslmode=disable"))
                .isEqualTo("jdbc:postgresql://db/shop?currentSchema=ops"
                        + "&options=-c%20geqo%3Doff+-c+role%3Dthe%5C+ops&connectTimeout=5&sslmode=disable"
                        + "&user=me&password=p%40w");
    }

    @Test
    void whatTheDriverForJavaDoesNotKnowIsSetInEachSessionAndWhatItSetsItselfIsToldOf() throws IOException {
        var file = file("harvest:\n  dataSource: host=db user=app dbname=shop jit=off timezone=UTC DateStyle=German"
                + " krbsrvname=pg tcpKeepAlive=true\n");
        assertThat(file.dataSource(Map.of()))
                .isEqualTo("jdbc:postgresql://db:5432/shop?user=app&options=-c+jit%3Doff&kerberosServerName=pg"
                        + "&tcpKeepAlive=true&sslmode=require");
        assertThat(file.warnings())
                .satisfiesExactly(
                        first -> assertThat(first).contains("dataSource: timezone has no effect here"),
                        second -> assertThat(second).contains("dataSource: DateStyle has no effect here"));
    }

    /** Else what was encrypted with Go would go in the clear as soon as the server says that it cannot encrypt. */
    @Test
    void connectionsAreEncryptedUnlessTheFileSaysOtherwiseAsInGo() {
        assertThat(jdbc("host=db user=app dbname=shop"))
                .isEqualTo("jdbc:postgresql://db:5432/shop?user=app&sslmode=require");
        assertThat(jdbc("postgres://db/shop")).isEqualTo("jdbc:postgresql://db/shop?sslmode=require");
        assertThat(jdbc("postgres://db/shop?sslmode=disable")).isEqualTo("jdbc:postgresql://db/shop?sslmode=disable");
        assertThat(jdbc("jdbc:postgresql://db/shop")).isEqualTo("jdbc:postgresql://db/shop");
    }

    /** Else a connection that a variable has encrypt, and ask for a certificate, would do neither. */
    @Test
    void whatADataSourceLeavesOutIsTakenFromTheVariablesThatGoReads() throws IOException {
        var mode = Map.of("PGSSLMODE", "verify-full");
        assertThat(jdbc("host=db user=app dbname=shop", mode))
                .isEqualTo("jdbc:postgresql://db:5432/shop?user=app&sslmode=verify-full");
        assertThat(jdbc("postgres://db/shop", mode)).isEqualTo("jdbc:postgresql://db/shop?sslmode=verify-full");
        assertThat(jdbc("host=db dbname=shop sslmode=disable", mode))
                .isEqualTo("jdbc:postgresql://db:5432/shop?sslmode=disable");
        assertThat(jdbc("jdbc:postgresql://db/shop", mode)).isEqualTo("jdbc:postgresql://db/shop");

        assertThat(jdbc("user=me", Map.of("PGHOST", "db", "PGPORT", "5433", "PGDATABASE", "shop")))
                .isEqualTo("jdbc:postgresql://db:5433/shop?user=me&sslmode=require");
        assertThat(jdbc("postgres://me@db", Map.of("PGPORT", "5433", "PGDATABASE", "the shop")))
                .isEqualTo("jdbc:postgresql://db:5433/the+shop?user=me&sslmode=require");
        assertThat(jdbc("postgres:///shop", Map.of("PGHOST", "::1", "PGPASSWORD", "p&w")))
                .isEqualTo("jdbc:postgresql://[::1]:5432/shop?password=p%26w&sslmode=require");
        assertThat(jdbc("host=db dbname=shop", Map.of("PGOPTIONS", "-c search_path=ops")))
                .isEqualTo("jdbc:postgresql://db:5432/shop?options=-c+search_path%3Dops&sslmode=require");
        assertThat(jdbc("postgres:///shop?host=db2", Map.of("PGHOST", "/var/run/postgresql")))
                .isEqualTo("jdbc:postgresql:///shop?host=db2&sslmode=require");
        assertThat(file("harvest:\n  dataSource: host=db dbname=shop\n").dataSource(mode))
                .endsWith("sslmode=verify-full");
    }

    /** The driver logs a URI that it does not understand, and with that a password. */
    @Test
    void aFolderOfSocketsIsRefusedByItsName() {
        var set = Map.of("PGHOST", "/var/run/postgresql", "PGPASSWORD", "secret");
        for (var source : List.of("user=me dbname=shop", "postgres://me@/shop", "host=/var/run/postgresql")) {
            assertThatThrownBy(() -> jdbc(source, set))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("/var/run/postgresql is a folder of sockets")
                    .hasMessageNotContaining("secret");
        }
    }

    /** Go's driver then accepts no server that this authority does not vouch for; that for Java would accept any. */
    @Test
    void theCertificateOfAnAuthorityIsAskedForAsInGo() throws IOException {
        var authority = Files.writeString(folder.resolve("root.crt"), "");
        var given = "host=db user=app dbname=shop sslrootcert='" + authority + "' sslmode=";
        assertThat(jdbc(given + "require")).contains("&sslmode=verify-ca");
        assertThat(jdbc(given.replace("sslmode=", ""))).contains("&sslmode=verify-ca");
        assertThat(jdbc(given + "verify-full")).contains("&sslmode=verify-full");
        assertThat(jdbc(given.replace("root.crt", "none") + "require")).contains("&sslmode=require");
    }

    private static String jdbc(String source) {
        return jdbc(source, Map.of());
    }

    private static String jdbc(String source, Map<String, String> environment) {
        return GoDataSource.jdbc(source, environment, new ArrayList<>());
    }

    private ReaperFile file(String text) throws IOException {
        return ReaperFile.read(Files.writeString(folder.resolve("reaper.yaml"), text));
    }
}
