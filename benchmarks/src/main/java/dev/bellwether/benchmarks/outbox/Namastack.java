package dev.bellwether.benchmarks.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.apache.commons.codec.digest.MurmurHash3;

/**
 * namastack-outbox 1.6.0 with its JDBC starter, in a process of its own (benchmarks/namastack, which scripts/bench
 * builds): 16 threads, 4,096 keys at a time, looked for each 5 ms; completed records are deleted. Rows are inserted as
 * it would, without its code: a key's partition is a hash of it.
 */
final class Namastack implements OutboxContestant {
    private static final Path CLASSES = Path.of("benchmarks/namastack/target/classes");
    private static final Path CLASS_PATH = Path.of("benchmarks/namastack/target/classpath");
    private static final String RELAY = "dev.bellwether.benchmarks.namastack.NamastackRelay";
    private static final int PARTITIONS = 256;
    private static final int KEYS = 10_000;
    private static final String COLUMNS = "INSERT INTO outbox_record (id, status, record_key, record_type, payload,"
            + " created_at, failure_count, next_retry_at, partition_no, handler_id) ";
    private static final String HANDLER =
            RELAY + "$Sending#handle(java.lang.String,io.namastack.outbox.handler.OutboxRecordMetadata)";

    @Override
    public String name() {
        return "namastack";
    }

    @Override
    public boolean isQuick() {
        return false;
    }

    @Override
    public boolean isProcess() {
        return true;
    }

    private static int partition(String key) {
        var bytes = key.getBytes(UTF_8);
        return (MurmurHash3.hash32x86(bytes, 0, bytes.length, 0) & 0x7fffffff) % PARTITIONS;
    }

    /** The tables are made by itself; so it runs once before. */
    @Override
    public void reset(OutboxServers stand) throws Exception {
        start(stand).close();
        stand.execute("TRUNCATE outbox_record, outbox_instance");
        stand.execute("CREATE TABLE IF NOT EXISTS namastack_keys (n integer PRIMARY KEY, partition_no integer "
                + "NOT NULL)");
        stand.execute("TRUNCATE namastack_keys");
        try (var connection = stand.connect();
                var insert = connection.prepareStatement("INSERT INTO namastack_keys VALUES (?, ?)")) {
            for (var n = 0; n < KEYS; n++) {
                insert.setInt(1, n);
                insert.setInt(2, partition("key-" + n));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    @Override
    public void fill(OutboxServers stand, int rows, int bytes, boolean headers) throws SQLException {
        if (headers) {
            throw new IllegalArgumentException(
                    "namastack's records have no headers as this adapter writes " + "them: plain");
        }
        stand.execute(COLUMNS + "SELECT gen_random_uuid(), 'NEW', 'key-' || i % " + KEYS
                + ", 'java.lang.String', substr(encode(value, 'hex'), 1, " + bytes
                + "), now() + i * interval '1 microsecond', 0, now(), partition_no, '" + HANDLER
                + "' FROM generate_series(1, " + rows + ") i JOIN payloads p ON p.n = i % 1000"
                + " JOIN namastack_keys k ON k.n = i % " + KEYS);
    }

    @Override
    public AutoCloseable start(OutboxServers stand) throws IOException {
        if (!Files.exists(CLASS_PATH)) {
            throw new IllegalStateException(CLASS_PATH + " is missing: mvn -f benchmarks/namastack/pom.xml package");
        }
        var process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        CLASSES + ":" + Files.readString(CLASS_PATH).strip(),
                        RELAY,
                        stand.uri(),
                        stand.bootstrap(),
                        OutboxServers.TOPIC)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        var out = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
        for (var line = out.readLine(); !"started".equals(line); line = out.readLine()) {
            if (line == null) {
                throw new IllegalStateException("namastack did not start");
            }
        }
        return () -> {
            process.getOutputStream().close();
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        };
    }

    @Override
    public long left(OutboxServers stand) throws SQLException {
        return stand.number("SELECT 1 FROM outbox_record WHERE status <> 'COMPLETED' LIMIT 1");
    }

    @Override
    public Pen pen(OutboxServers stand) throws SQLException {
        var connection = stand.connect();
        var insert = connection.prepareStatement(COLUMNS
                + "VALUES (gen_random_uuid(), 'NEW', ?, 'java.lang.String', ?, clock_timestamp(), 0, "
                + "clock_timestamp(), ?, '"
                + HANDLER + "')");
        return new Pen() {
            @Override
            public void write(String key, String value) throws SQLException {
                insert.setString(1, key);
                insert.setString(2, value);
                insert.setInt(3, partition(key));
                insert.executeUpdate();
            }

            @Override
            public void close() throws SQLException {
                insert.close();
                connection.close();
            }
        };
    }
}
