package dev.bellwether.cli.outbox;

import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.outbox.Inbox;
import dev.bellwether.outbox.OutboxAdmin;
import dev.bellwether.outbox.OutboxForm;
import dev.bellwether.outbox.OutboxSchema;
import dev.bellwether.outbox.OutboxTable;
import dev.bellwether.outbox.Replay;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code bellwether outbox}: what an operator of an outbox does. */
@Command(
        name = "outbox",
        header = "Make, watch and examine an outbox.",
        synopsisSubcommandLabel = "VERB",
        commandListHeading = "%nVerbs:%n",
        footer = {
            "  bellwether outbox status --db 'jdbc:postgresql://db/app?user=ops'",
            "  bellwether outbox status --watch --db 'jdbc:postgresql://db/app?user=ops'",
            "  bellwether outbox doctor --db 'jdbc:postgresql://db/app?user=ops' --kafka broker:9092"
        })
public final class OutboxCommand implements Runnable {
    private static final int REQUEUED_AT_ONCE = 200;
    private static final int LISTED = 1_000;

    private final CommandEnvironment around;

    @Spec
    private @Nullable CommandSpec spec;

    public OutboxCommand(CommandEnvironment around) {
        this.around = around;
    }

    @Override
    public void run() {
        if (spec != null) {
            throw new MissingParameterException(spec.commandLine(), spec.args(), "a verb is missing");
        }
    }

    /** Which outbox. */
    static final class At {
        @Option(
                names = "--db",
                paramLabel = "URI",
                description = "The database, such as jdbc:postgresql://db/app. Default: BELLWETHER_OUTBOX.")
        private Optional<String> db = Optional.empty();

        @Option(
                names = "--table",
                paramLabel = "NAME",
                defaultValue = "outbox",
                description = "The table. Default: outbox.")
        private String table = "outbox";

        @Option(
                names = "--layout",
                paramLabel = "LAYOUT",
                description = "bellwether or goharvest. Default: what the table has; bellwether if there is none.")
        private Optional<OutboxTable.Layout> layout = Optional.empty();

        @Option(
                names = "--timeout",
                paramLabel = "TIME",
                defaultValue = "5s",
                description = "Wait so long for an answer. Default: 5s.")
        private Duration timeout = Duration.ofSeconds(5);

        private Optional<JdbcSource> source = Optional.empty();

        /** Asks the database, in time. */
        <T> T ask(CommandEnvironment around, Question<T> question) throws Exception {
            var database = database(around);
            return ask(around, () -> BackendOptions.late(database.uri(), timeout), question);
        }

        /** The same, with what it means if there is no answer in time. */
        <T> T ask(CommandEnvironment around, Supplier<String> late, Question<T> question) throws Exception {
            var database = database(around);
            return new Bounded(timeout, late).ask(() -> {
                try {
                    return question.ask(database, table(database));
                } catch (SQLException e) {
                    throw database.failed(e);
                }
            });
        }

        /**
         * Does with the database and the brokers what takes as long as it takes. In time must be only that the database
         * is reached, and each of its answers; for the brokers Kafka's own limits hold.
         */
        <T> T work(CommandEnvironment around, Question<T> question) throws Exception {
            OutboxTable known = ask(around, (database, table) -> table);
            var database = database(around);
            try {
                return question.ask(database.within(timeout), known);
            } catch (SQLException e) {
                throw database.failed(e);
            }
        }

        Duration timeout() {
            return timeout;
        }

        /** Reads the URI once: a file that it names may be a pipe. */
        JdbcSource database(CommandEnvironment around) {
            var known = source.orElseGet(() -> JdbcSource.of(db.or(() -> around.variable("BELLWETHER_OUTBOX"))
                    .orElseThrow(() -> new UsageException("which database? Name it with --db jdbc:..."))));
            source = Optional.of(known);
            return known;
        }

        OutboxTable table(JdbcSource database) {
            requireName(table);
            var known = layout.or(() -> database.use(connection -> OutboxSchema.layout(connection, table)));
            return new OutboxTable(table, known.orElse(OutboxTable.Layout.BELLWETHER));
        }
    }

    /** Refuses what no outbox may be called, as a wrong command line. */
    static void requireName(String table) {
        try {
            OutboxTable.named(table);
        } catch (IllegalArgumentException e) {
            throw new UsageException(String.valueOf(e.getMessage()), e);
        }
    }

    @Command(name = "schema", description = "Print the SQL that makes the tables.")
    int schema(
            @picocli.CommandLine.Mixin At at,
            @Option(
                            names = "--form",
                            paramLabel = "FORM",
                            description = "plain, or rotated: parts that are emptied by TRUNCATE. Default: plain.")
                    @Nullable
                    OutboxForm form,
            @Option(
                            names = "--wake-up",
                            description = "Print also the trigger by which plain INSERTs wake an idle relay: PostgreSQL"
                                    + " only.")
                    boolean wakeUp,
            @Option(
                            names = "--inbox",
                            paramLabel = "NAME",
                            description = "Print instead what makes an inbox of this name, for consumers.")
                    @Nullable
                    String inbox)
            throws Exception {
        if ((wakeUp || form != null) && inbox != null) {
            throw new UsageException(
                    (wakeUp ? "--wake-up" : "--form") + " is for an outbox; leave it out with --inbox");
        }
        String sql = at.ask(
                around,
                (database, table) -> database.use(connection -> {
                    try {
                        if (inbox != null) {
                            return Inbox.of("any").in(inbox).ddl(connection);
                        }
                        var tables = OutboxSchema.ddl(connection, table, form == null ? OutboxForm.PLAIN : form);
                        return wakeUp ? tables + OutboxSchema.wakeUpTrigger(connection, table) : tables;
                    } catch (IllegalArgumentException e) {
                        throw new UsageException(String.valueOf(e.getMessage()), e);
                    }
                }));
        around.out().print(sql);
        return ExitCode.OK;
    }

    @Command(
            name = "migrate",
            description = "Make what is missing beside the table, and print it; or give the table another form, while "
                    + "writers go on.")
    int migrate(
            @picocli.CommandLine.Mixin At at,
            @Option(
                            names = "--to",
                            paramLabel = "FORM",
                            description = "plain or rotated. Tried for half of --timeout, until nobody uses the table.")
                    @Nullable
                    OutboxForm to)
            throws Exception {
        if (to != null) {
            var patience = at.timeout().dividedBy(2); // the rest is for what has begun
            boolean changed = at.ask(around, (database, table) -> {
                try {
                    return OutboxAdmin.of(database, table).migrate(to, patience);
                } catch (IllegalArgumentException e) {
                    throw new UsageException(String.valueOf(e.getMessage()), e);
                }
            });
            around.out()
                    .println((changed ? "is now " : "was already ") + to.name().toLowerCase(Locale.ROOT));
            return ExitCode.OK;
        }
        String sql = at.ask(
                around, (database, table) -> database.use(connection -> OutboxSchema.migrate(connection, table)));
        around.out().print(sql);
        return ExitCode.OK;
    }

    @Command(
            name = "doctor",
            description = "Look for what breaks a promise, or costs speed; 1 if there is an error: a broken promise.")
    int doctor(
            @picocli.CommandLine.Mixin At at,
            @picocli.CommandLine.Mixin BrokerOptions brokers,
            @Option(names = "--json", description = "Print JSON.") boolean json)
            throws Exception {
        var kafka = brokers.properties();
        var findings = at.ask(
                around, (database, table) -> OutboxAdmin.of(database, table).examine(Optional.empty()));
        if (kafka.isPresent()) {
            findings = withBrokers(at, kafka.get(), findings);
        }
        if (json) {
            around.out().println(OutboxJson.findings(findings));
        } else {
            for (var finding : findings) {
                around.say(finding.severity() + ": " + finding.what());
                if (finding.remedy() != null) {
                    around.say("    " + finding.remedy());
                }
            }
        }
        return findings.stream().anyMatch(finding -> finding.severity() == OutboxAdmin.Severity.ERROR)
                ? ExitCode.FAILED
                : ExitCode.OK;
    }

    /** Returns what is found there, too. If the brokers do not answer in time, what the database told is not lost. */
    private List<OutboxAdmin.Finding> withBrokers(
            At at, Map<String, Object> kafka, List<OutboxAdmin.Finding> ofDatabase) throws Exception {
        var late = "the brokers do not answer: nothing from " + BrokerOptions.names(kafka) + " within "
                + CommandDurations.show(at.timeout());
        try {
            return at.ask(
                    around,
                    () -> late,
                    (database, table) -> OutboxAdmin.of(database, table).examine(Optional.of(kafka)));
        } catch (UnavailableException e) {
            var findings = new ArrayList<>(ofDatabase);
            findings.add(new OutboxAdmin.Finding(
                    OutboxAdmin.Severity.ERROR,
                    String.valueOf(e.getMessage()),
                    "see to them; if they are only slow, give them longer with --timeout"));
            return findings;
        }
    }

    @Command(name = "parked", description = "List the parked records.")
    int parked(@picocli.CommandLine.Mixin At at, @Option(names = "--json", description = "Print JSON.") boolean json)
            throws Exception {
        var found = at.ask(
                around, (database, table) -> OutboxAdmin.of(database, table).parked(LISTED + 1));
        var records = firstOf(found);
        var more = found.size() > LISTED;
        if (json) {
            around.out().println(OutboxJson.parked(records, more));
            return ExitCode.OK;
        }
        for (var record : records) {
            around.say(record.id() + "  " + record.parked() + "  " + record.eventId() + "  " + record.topic() + "  "
                    + record.reason());
        }
        tellOf(more);
        return ExitCode.OK;
    }

    @Command(
            name = "blocked",
            description = "List the records that wait and hold back others, with what waits and why.")
    int blocked(@picocli.CommandLine.Mixin At at, @Option(names = "--json", description = "Print JSON.") boolean json)
            throws Exception {
        var found = at.ask(
                around, (database, table) -> OutboxAdmin.of(database, table).blocked(LISTED + 1));
        var records = firstOf(found);
        var more = found.size() > LISTED;
        if (json) {
            around.out().println(OutboxJson.blocked(records, more));
            return ExitCode.OK;
        }
        for (var record : records) {
            around.say(record.id() + "  " + record.since() + "  shard " + record.shard() + "  "
                    + record.waits().name().toLowerCase(Locale.ROOT) + "  " + record.topic() + "  " + record.reason());
        }
        tellOf(more);
        return ExitCode.OK;
    }

    private static <T> List<T> firstOf(List<T> records) {
        return records.subList(0, Math.min(LISTED, records.size()));
    }

    private void tellOf(boolean more) {
        if (more) {
            around.err().println("bellwether: these are the first " + LISTED + ": there are more");
        }
    }

    @Command(
            name = "requeue",
            description =
                    "Put parked records at the end of the table: they come after those of their keys published since.")
    int requeue(
            @picocli.CommandLine.Mixin At at,
            @Parameters(paramLabel = "ID", arity = "0..*") @Nullable List<Long> given,
            @Option(names = "--topic", paramLabel = "TOPIC", description = "All of this topic, the oldest first.")
                    @Nullable
                    String topic,
            @Option(names = "--json", description = "Print JSON.") boolean json)
            throws Exception {
        var ids = given == null ? List.<Long>of() : given;
        if (ids.isEmpty() == (topic == null)) {
            throw new UsageException("which records? Name them by their ids, or all of a topic with --topic TOPIC");
        }
        var missing = new ArrayList<Long>();
        var count = 0;
        if (topic == null) {
            for (var id : ids) {
                if (at.ask(
                        around,
                        (database, table) -> OutboxAdmin.of(database, table).requeue(id))) {
                    count++;
                } else {
                    around.err().println("bellwether: no parked record " + id);
                    missing.add(id);
                }
            }
        } else {
            count = requeueTopic(at, topic);
        }
        around.out().println(json ? OutboxJson.requeued(count, missing) : count + " requeued");
        return count > 0 && missing.isEmpty() ? ExitCode.OK : ExitCode.FAILED;
    }

    @Command(
            name = "replay",
            description = "Publish again what was published and is kept: all that follows an id or a time, or any of "
                    + "it into another topic.")
    int replay(
            @picocli.CommandLine.Mixin At at,
            @picocli.CommandLine.Mixin BrokerOptions brokers,
            @Option(names = "--from-id", paramLabel = "ID", description = "Begin with this row.") @Nullable Long fromId,
            @Option(
                            names = "--since",
                            paramLabel = "TIME",
                            description =
                                    "Begin with the first row of this time or later, such as 2026-03-01T08:00:00Z.")
                    @Nullable
                    Instant since,
            @Option(names = "--topic", paramLabel = "TOPIC", description = "Only the records of this topic.") @Nullable
                    String topic,
            @Option(
                            names = "--into",
                            paramLabel = "TOPIC",
                            description = "Publish into this topic, which the outbox does not publish to.")
                    @Nullable
                    String into,
            @Option(names = "--to-id", paramLabel = "ID", description = "End with this row; with --into only.")
                    @Nullable
                    Long toId,
            @Option(names = "--until", paramLabel = "TIME", description = "End before this time; with --into only.")
                    @Nullable
                    Instant until,
            @Option(
                            names = {"-y", "--yes"},
                            description = "Do not ask. Without it, and without a terminal to ask on, nothing is done.")
                    boolean yes)
            throws Exception {
        if ((fromId == null) == (since == null)) {
            throw new UsageException("where does it begin? Say --from-id ID or --since TIME");
        }
        var which = fromId == null ? Replay.since(Objects.requireNonNull(since)) : Replay.fromId(fromId);
        var kafka = brokers.required();
        which = topic == null ? which : which.ofTopic(topic);
        which = toId == null ? which : which.toId(toId);
        which = until == null ? which : which.until(until);
        if (into == null && !isAgreed(yes)) {
            around.err().println("Nothing was done.");
            return ExitCode.FAILED;
        }
        var chosen = which;
        long count = at.work(around, (database, table) -> {
            var admin = OutboxAdmin.of(database, table);
            try {
                return into == null ? admin.replay(chosen, kafka) : admin.replayInto(into, chosen, kafka);
            } catch (IllegalArgumentException e) {
                throw new UsageException(String.valueOf(e.getMessage()), e);
            }
        });
        around.out().println(count + (into == null ? " are published again" : " published into " + into));
        return ExitCode.OK;
    }

    private boolean isAgreed(boolean yes) {
        if (!yes && (!around.inIsTerminal() || !around.outIsTerminal())) {
            throw new UsageException("There is no terminal to ask on. Add --yes.");
        }
        return yes || around.confirm("All consumers of these records will see them again. Publish them again?");
    }

    /** Those that are parked now: what a relay parks again meanwhile is left, or this would never end. */
    private int requeueTopic(At at, String topic) throws Exception {
        var last = at.ask(
                around, (database, table) -> OutboxAdmin.of(database, table).lastParked(topic));
        var count = 0;
        for (var more = last.isPresent(); more; ) {
            int some = at.ask(
                    around,
                    (database, table) ->
                            OutboxAdmin.of(database, table).requeueTopic(topic, last.getAsLong(), REQUEUED_AT_ONCE));
            count += some;
            more = some > 0;
        }
        return count;
    }

    /** What is asked of a database about its outbox. */
    interface Question<T> {
        T ask(JdbcSource database, OutboxTable table) throws Exception;
    }
}
