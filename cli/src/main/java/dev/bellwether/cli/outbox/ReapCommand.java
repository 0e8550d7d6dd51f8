package dev.bellwether.cli.outbox;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.ExitHook;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.kafka.KafkaElections;
import dev.bellwether.outbox.OutboxForm;
import dev.bellwether.outbox.OutboxRelay;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.RelayConfig;
import dev.bellwether.outbox.RelayEvent;
import dev.bellwether.spi.ConnectUri;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.config.ConfigException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bellwether reap} */
@Command(
        name = "reap",
        header = "Publish the records of an outbox to Kafka, as goharvest's reaper did.",
        description =
                "Takes a reaper.yaml as it is, and says which of its keys have no effect any more. Of all that run"
                        + " with the same leaderGroupID one leads; the others stand by.",
        footer = {
            "  bellwether reap -f reaper.yaml",
            "",
            "Exit codes: 130 Ctrl-C and 143 SIGTERM, after handing over; 0 --for is over; 2 the command line or the",
            "file is wrong; 4 the database or the brokers do not answer at the start; 5 the candidacy failed, or",
            "the election was ended."
        })
public final class ReapCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Option(
            names = {"-f", "--file", "-file"},
            paramLabel = "FILE",
            required = true,
            description = "The file.")
    private Path file = Path.of("reaper.yaml");

    @Option(names = "--for", paramLabel = "TIME", description = "End after this time. Default: never.")
    private Optional<Duration> time = Optional.empty();

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            defaultValue = "30s",
            description = "Wait this long for database and brokers at the start. Default: 30s.")
    private Duration timeout = Duration.ofSeconds(30);

    private final CountDownLatch told = new CountDownLatch(1);
    private volatile boolean ended;

    public ReapCommand(CommandEnvironment around) {
        this.around = around;
    }

    @Override
    public Integer call() throws Exception {
        var reaper = ReaperFile.read(file);
        log(reaper.level());
        var settings = settings(reaper);
        var database = JdbcSource.of(reaper.dataSource(around.environment()));
        var bounded = new Bounded(timeout, () -> BackendOptions.late(database.uri(), timeout));
        var layout = bounded.ask(() -> database.use(connection -> layout(connection, reaper)));
        var config = settings.table(new OutboxTable(reaper.table(), layout)).build();
        reaper.warnings().forEach(warning -> around.complain("warning: " + warning));
        var handedOver = new CountDownLatch(1);
        var atExit = ExitHook.add("bellwether-reap-end", () -> {
            told.countDown();
            await(handedOver, Duration.ofMinutes(1));
        });
        try (var elections = elections(reaper, timeout);
                var relay = relay(database, config, elections)) {
            await(told, time.orElse(Duration.ofDays(36_500)));
            relay.poke();
            return ended ? ExitCode.RELAY_ENDED : ExitCode.OK;
        } finally {
            handedOver.countDown();
            atExit.close();
        }
    }

    /**
     * Returns the layout that the table has, or is to get: that of the original, if it can have the form that the file
     * says.
     */
    private OutboxTable.Layout layout(Connection connection, ReaperFile reaper) throws SQLException {
        var rotated = reaper.form() == OutboxForm.ROTATED;
        var found = OutboxSchema.layout(connection, reaper.table());
        if (rotated && found.equals(Optional.of(OutboxTable.Layout.GOHARVEST))) {
            throw new UsageException(file + ": relay.form is rotated, and table " + reaper.table()
                    + " has goharvest's layout, which has the plain form only. Remove relay.form, or name a table of"
                    + " our layout, or one that is to be made");
        }
        var theirs =
                !rotated && connection.getMetaData().getDatabaseProductName().equalsIgnoreCase("PostgreSQL");
        return found.orElse(theirs ? OutboxTable.Layout.GOHARVEST : OutboxTable.Layout.BELLWETHER);
    }

    private OutboxRelay relay(JdbcSource database, RelayConfig config, Elections elections) {
        try {
            return OutboxRelay.start(database, config, elections);
        } catch (ElectionException e) {
            if (e.getCause() instanceof ConfigException) {
                throw new UsageException(file + ": " + e.getMessage(), e);
            }
            throw e;
        }
    }

    /** Returns settings that are known to be right, whatever the layout of the table is. */
    private RelayConfig.Builder settings(ReaperFile reaper) {
        try {
            var settings = reaper.config()
                    .table(new OutboxTable(reaper.table(), OutboxTable.Layout.GOHARVEST))
                    .listener(this::tell);
            settings.build();
            return settings;
        } catch (UsageException | IllegalArgumentException | ElectionException e) {
            throw new UsageException(file + ": " + e.getMessage(), e);
        }
    }

    /** Before the first logger is made. What Kafka's clients say of themselves is left out below a warning. */
    private static void log(String level) {
        System.setProperty("org.slf4j.simpleLogger.log.dev.bellwether", level);
        System.setProperty("org.slf4j.simpleLogger.log.org.apache.kafka", level.equals("error") ? "error" : "warn");
    }

    private static Elections elections(ReaperFile reaper, Duration timeout) throws Exception {
        var on = reaper.on().map(ReapCommand::uri);
        if (on.isPresent()) {
            return new Bounded(timeout, () -> BackendOptions.late(on.get(), timeout))
                    .open(() -> Elections.over(on.get().connect(), ElectionsConfig.defaults()));
        }
        var properties = new TreeMap<>(reaper.kafka());
        properties.keySet().retainAll(AdminClientConfig.configNames());
        properties.keySet().removeIf(name -> name.equals("client.id") || name.equals("retries"));
        reaper.leaderTopic().ifPresent(topic -> properties.put("topic", topic));
        var brokers = uri("kafka://" + properties.get("bootstrap.servers"));
        return new Bounded(timeout, () -> BackendOptions.late(brokers, timeout))
                .open(() -> KafkaElections.using(properties));
    }

    private static ConnectUri uri(String text) {
        try {
            var uri = ConnectUri.parse(text);
            uri.check();
            return uri;
        } catch (ElectionException e) {
            throw new UsageException(String.valueOf(e.getMessage()), e);
        }
    }

    private static void await(CountDownLatch latch, Duration most) {
        try {
            latch.await(most.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void tell(RelayEvent event) {
        around.say(event.toString());
        around.out().flush();
        if (event instanceof RelayEvent.CandidacyFailed || event instanceof RelayEvent.ElectionEnded) {
            ended = true;
            told.countDown();
        }
    }
}
