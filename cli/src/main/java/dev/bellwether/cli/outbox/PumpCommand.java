package dev.bellwether.cli.outbox;

import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code bellwether outbox pump} */
@Command(
        name = "pump",
        header = "Write messages into an outbox, to measure it.",
        description = "One connection writes. It prints only how fast its transactions committed; bellwether outbox"
                + " status shows how fast records are published.")
public final class PumpCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Mixin
    private OutboxCommand.At at = new OutboxCommand.At();

    @Option(names = "--topic", paramLabel = "TOPIC", required = true, description = "The topic of the messages.")
    private String topic = "";

    @Option(names = "--records", paramLabel = "N", defaultValue = "10000", description = "So many. Default: 10,000.")
    private int records = 10_000;

    @Option(
            names = "--keys",
            paramLabel = "N",
            defaultValue = "10",
            description = "Spread over this many keys. Default: 10.")
    private int keys = 10;

    @Option(
            names = "--size",
            paramLabel = "BYTES",
            defaultValue = "256",
            description = "Bytes of a value. Default: 256.")
    private int size = 256;

    @Option(
            names = "--batch",
            paramLabel = "N",
            defaultValue = "20",
            description = "Messages per transaction. Default: 20.")
    private int batch = 20;

    @Option(
            names = "--interval",
            paramLabel = "TIME",
            description = "Begin a transaction each time after this time, or as soon as the last has committed."
                    + " Default: at once.")
    private Duration interval = Duration.ZERO;

    @Option(names = "--blank", description = "Write tombstones.")
    private boolean blank;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    public PumpCommand(CommandEnvironment around) {
        this.around = around;
    }

    @Override
    public Integer call() throws Exception {
        requireAtLeast(1, "--batch", batch);
        requireAtLeast(1, "--keys", keys);
        requireAtLeast(0, "--size", size);
        requireAtLeast(0, "--records", records);
        var database = at.database(around);
        var outbox = Outbox.of(at.ask(around, (same, table) -> table));
        var bounded = new Bounded(at.timeout(), () -> BackendOptions.late(database.uri(), at.timeout()));
        var took = new ArrayList<Long>();
        var began = System.nanoTime();
        try (var connection = bounded.open(database::getConnection)) {
            connection.setAutoCommit(false);
            connection.setNetworkTimeout(Runnable::run, (int)
                    Math.min(Integer.MAX_VALUE, at.timeout().toMillis()));
            for (var written = 0; written < records; written += batch) {
                var due = began + interval.toNanos() * took.size() - System.nanoTime();
                if (due > 0) {
                    TimeUnit.NANOSECONDS.sleep(due);
                }
                var start = System.nanoTime();
                var messages = new ArrayList<Message>();
                for (var i = written; i < Math.min(records, written + batch); i++) {
                    messages.add(message(i));
                }
                outbox.stash(connection, messages);
                connection.commit();
                took.add(System.nanoTime() - start);
            }
        } catch (SQLException e) {
            throw database.failed(e);
        }
        report(
                (System.nanoTime() - began) / 1e9,
                took.stream().mapToLong(n -> n).sorted().toArray());
        return ExitCode.OK;
    }

    private static void requireAtLeast(int least, String option, int given) {
        if (given < least) {
            throw new UsageException(option + ": " + given + " is too few: give it at least " + least);
        }
    }

    private Message message(int number) {
        var builder = Message.to(topic).key("key-" + number % keys);
        if (!blank) {
            // letters that do not repeat: what compresses well would flatter
            builder.value(ThreadLocalRandom.current()
                    .ints(size, 'a', 'z' + 1)
                    .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                    .toString());
        }
        return builder.build();
    }

    private void report(double seconds, long[] nanos) {
        if (json) {
            around.out().println(Json.object(out -> {
                out.writeNumberField("messages", records);
                out.writeNumberField("seconds", seconds);
                out.writeNumberField("transactions", nanos.length);
                out.writeNumberField("p50Millis", at(nanos, 0.5));
                out.writeNumberField("p99Millis", at(nanos, 0.99));
            }));
            return;
        }
        around.out()
                .printf(
                        "%d messages in %.2f s: %.0f/s written; a transaction of %d took %.2f ms (p50), %.2f ms"
                                + " (p99)%n",
                        records, seconds, records / seconds, batch, at(nanos, 0.5), at(nanos, 0.99));
        if (interval.isZero() && Arrays.stream(nanos).sum() < seconds * 0.5e9) {
            around.out().println("most of that time was spent making messages, not writing them");
        }
    }

    private static double at(long[] nanos, double share) {
        return nanos.length == 0 ? 0 : nanos[(int) Math.min(nanos.length - 1, nanos.length * share)] / 1e6;
    }
}
