package dev.bellwether.cli;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Text;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.cli.console.ConsoleCommand;
import dev.bellwether.cli.demo.DemoCandidate;
import dev.bellwether.cli.demo.DemoCommand;
import dev.bellwether.cli.look.DoctorCommand;
import dev.bellwether.cli.look.ListCommand;
import dev.bellwether.cli.look.RolesCommand;
import dev.bellwether.cli.look.SchemaCommand;
import dev.bellwether.cli.look.ShowCommand;
import dev.bellwether.cli.look.WatchCommand;
import dev.bellwether.cli.order.DeleteCommand;
import dev.bellwether.cli.order.EndCommand;
import dev.bellwether.cli.order.HandOverCommand;
import dev.bellwether.cli.order.ReopenCommand;
import dev.bellwether.cli.order.StandDownCommand;
import dev.bellwether.cli.outbox.OutboxCommand;
import dev.bellwether.cli.outbox.PumpCommand;
import dev.bellwether.cli.outbox.ReapCommand;
import dev.bellwether.cli.outbox.StatusCommand;
import dev.bellwether.cli.run.FileCommand;
import dev.bellwether.cli.run.RunCommand;
import dev.bellwether.cli.run.ServeCommand;
import dev.bellwether.spi.Causes;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Where the {@code bellwether} command begins. */
public final class Main {
    /** Verbs that stand for an election: a message that nobody reads must not hold up a renewal or a hand-over. */
    private static final Set<String> STANDING = Set.of("run", "file", "serve", "reap");

    /** Of these, those that print while they stand: reap on the threads that publish, serve what its address is. */
    private static final Set<String> PRINTING = Set.of("reap", "serve");

    /** How long a process that has ended its work waits for somebody to read a message. */
    private static final Duration UNREAD = Duration.ofSeconds(10);

    private Main() {}

    /** Runs the command and exits with its code. */
    public static void main(String[] args) throws InterruptedException {
        if (args.length == 1 && (args[0].equals("--version") || args[0].equals("-V"))) {
            System.out.println(Version.line()); // the one that people and scripts wait for
            if (System.out.checkError()) {
                System.exit(ExitCode.FAILED);
            }
            return;
        }
        if (isVerbose(args)) {
            System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "info");
        }
        var verb = verb(args);
        if (!STANDING.contains(verb)) {
            System.exit(run(
                    surroundings(new FileOutputStream(FileDescriptor.out), new FileOutputStream(FileDescriptor.err)),
                    args));
        }
        var errors = new QueuedOutput(new FileOutputStream(FileDescriptor.err), "bellwether-errors");
        System.setErr(new PrintStream(errors, true, Charset.defaultCharset())); // for the log
        var out = PRINTING.contains(verb)
                ? new QueuedOutput(new FileOutputStream(FileDescriptor.out), "bellwether-output")
                : new FileOutputStream(FileDescriptor.out);
        var code = run(surroundings(out, errors), args);
        if (out instanceof QueuedOutput queued) {
            queued.finish(UNREAD);
        }
        errors.finish(UNREAD);
        System.exit(code);
    }

    /** Returns the verb, before which there are none but options without a value. */
    static String verb(String... args) {
        return Arrays.stream(args)
                .filter(one -> !one.startsWith("-"))
                .findFirst()
                .orElse("");
    }

    /** Returns whether it is to be; what follows the command of {@code run} is not ours. */
    private static boolean isVerbose(String... args) {
        if (!Arrays.asList(args).contains("--verbose")) {
            return false;
        }
        try {
            var nowhere = OutputStream.nullOutputStream();
            return isVerbose(commandLine(surroundings(nowhere, nowhere)).parseArgs(args));
        } catch (ParameterException e) {
            return true; // told when it is parsed again
        }
    }

    private static boolean isVerbose(CommandLine.ParseResult parsed) {
        return parsed.asCommandLineList().stream()
                .anyMatch(line -> line.getParseResult().hasMatchedOption("--verbose"));
    }

    /** Runs the command in the given surroundings, and returns its exit code. */
    static int run(CommandEnvironment around, String... args) {
        var secrets = new Secrets(List.of(args), around.environment());
        var line = commandLine(around);
        line.setParameterExceptionHandler((e, arguments) -> misused(e, around, secrets));
        line.setExecutionExceptionHandler((e, at, parsed) -> failed(e, around, secrets, parsed, at));
        int code;
        try {
            code = line.execute(helpful(line, args));
        } catch (Error e) { // no memory or no thread is left, for example
            tell(around, secrets.hide(e.toString()));
            code = verb(args).equals("run") ? ExitCode.RUN_FAILED : ExitCode.FAILED;
        }
        around.err().flush();
        if (around.out().checkError()) {
            tell(around, "standard output cannot be written, so the output is lost in whole or in part");
            return code == ExitCode.OK ? ExitCode.FAILED : code;
        }
        return code;
    }

    /**
     * Takes {@code help VERB} for {@code VERB --help}; of a verb of another, {@code outbox help status} as well. A verb
     * that does not exist stays without it: with it, the help of its parent would be shown.
     */
    private static String[] helpful(CommandLine line, String[] args) {
        var words = new ArrayList<String>();
        var wanted = false;
        var at = line;
        for (var i = 0; i < args.length && at != null && !at.getSubcommands().isEmpty(); i++) {
            if (args[i].equals("help")) {
                wanted = true;
            } else {
                words.add(args[i]);
                at = args[i].startsWith("-") ? at : at.getSubcommands().get(args[i]);
            }
        }
        if (at != null) {
            // what followed the last verb is left out: the command of run would take this for its own
            words.add("--help");
        }
        return wanted ? words.toArray(String[]::new) : args;
    }

    private static CommandLine outbox(CommandEnvironment around) {
        return new CommandLine(new OutboxCommand(around))
                .addSubcommand(new StatusCommand(around))
                .addSubcommand(new PumpCommand(around));
    }

    /** Puts the verbs together. */
    static CommandLine commandLine(CommandEnvironment around) {
        var line = new CommandLine(new RootCommand())
                .addSubcommand(new RunCommand(around))
                .addSubcommand(new FileCommand(around))
                .addSubcommand(new ServeCommand(around))
                .addSubcommand(new ListCommand(around))
                .addSubcommand(new ShowCommand(around))
                .addSubcommand(new RolesCommand(around))
                .addSubcommand(new WatchCommand(around))
                .addSubcommand(new StandDownCommand(around))
                .addSubcommand(new HandOverCommand(around))
                .addSubcommand(new EndCommand(around))
                .addSubcommand(new ReopenCommand(around))
                .addSubcommand(new DeleteCommand(around))
                .addSubcommand(new SchemaCommand(around))
                .addSubcommand(new DoctorCommand(around))
                .addSubcommand(new ReapCommand(around))
                .addSubcommand(outbox(around))
                .addSubcommand(new ConsoleCommand(around))
                .addSubcommand(new DemoCommand(around, Main.class))
                .addSubcommand(new DemoCandidate(around))
                .addSubcommand(new CompletionCommand(around));
        layOut(line);
        line.registerConverter(Duration.class, new CommandDurations());
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setExpandAtFiles(false); // what follows COMMAND is not ours
        line.setOut(around.out());
        line.setErr(around.err());
        line.setUsageHelpWidth(100);
        line.setColorScheme(colours(around.colours())); // for standard output
        return line;
    }

    /** Has the help of all verbs look alike. */
    private static void layOut(CommandLine line) {
        var help = line.getCommandSpec().usageMessage();
        help.synopsisHeading("%nUsage: ").optionListHeading("%nOptions:%n");
        if (help.footer().length > 0) {
            help.footerHeading("%nExamples:%n");
        }
        if (line.getSubcommands().isEmpty()) {
            help.descriptionHeading("%n").sortOptions(false);
        }
        line.getSubcommands().values().forEach(Main::layOut);
    }

    private static CommandLine.Help.ColorScheme colours(boolean wanted) {
        return CommandLine.Help.defaultColorScheme(wanted ? Ansi.ON : Ansi.OFF);
    }

    private static int misused(ParameterException e, CommandEnvironment around, Secrets secrets) {
        var at = e.getCommandLine();
        var name = at.getCommandSpec().qualifiedName();
        if (e instanceof MissingParameterException && at.getParent() == null) {
            at.usage(around.err(), colours(around.errColours()));
            return ExitCode.USAGE;
        }
        var unknown = unknownCommand(e, at);
        tell(around, secrets.hide(unknown.orElseGet(() -> String.valueOf(e.getMessage()))));
        if (e instanceof UnmatchedArgumentException unmatched && unknown.isEmpty()) {
            hints(unmatched, at).forEach(around.err()::println);
        }
        around.err().println("See " + name + " --help");
        return ExitCode.USAGE;
    }

    /** Returns what to say of the first word if it should be the name of a command, and is none. */
    private static Optional<String> unknownCommand(ParameterException e, CommandLine at) {
        if (!(e instanceof UnmatchedArgumentException unmatched)
                || at.getSubcommands().isEmpty()
                || unmatched.getUnmatched().get(0).startsWith("-")
                || unmatched.getUnmatched().get(0).indexOf(':') >= 0) {
            return Optional.empty();
        }
        var given = unmatched.getUnmatched().get(0);
        var names = at.getSubcommands().entrySet().stream()
                .filter(one -> !one.getValue().getCommandSpec().usageMessage().hidden())
                .map(Map.Entry::getKey)
                .toList();
        var nearest = names.stream().min(Comparator.comparingInt(name -> distance(given, name)));
        return Optional.of("unknown command \"" + given + "\""
                + nearest.filter(name -> distance(given, name) <= Math.max(2, given.length() / 2))
                        .map(name -> ". Did you mean " + name + "?")
                        .orElse(": there are " + String.join(", ", names)));
    }

    /** Returns how many letters must be put in, left out or changed to make one of the other. */
    private static int distance(String one, String other) {
        var row = new int[other.length() + 1];
        for (var j = 0; j < row.length; j++) {
            row[j] = j;
        }
        for (var i = 1; i <= one.length(); i++) {
            var diagonal = row[0];
            row[0] = i;
            for (var j = 1; j < row.length; j++) {
                var changed = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(changed, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[other.length()];
    }

    private static List<String> hints(UnmatchedArgumentException e, CommandLine at) {
        var first = e.getUnmatched().get(0);
        if (at.getCommand() instanceof RunCommand && first.startsWith("-")) {
            return List.of("Options of the command itself come after --, as in: bellwether run nightly -- ls -l");
        }
        if (!first.startsWith("-") && first.indexOf(':') > 0) {
            return List.of("A backend is named with --on URI, or by the variable BELLWETHER_ON");
        }
        return e.getSuggestions().stream()
                .limit(1)
                .map(other -> "Did you mean " + other + "?")
                .toList();
    }

    private static int failed(
            Exception e, CommandEnvironment around, Secrets secrets, CommandLine.ParseResult parsed, CommandLine at) {
        around.out().flush();
        at.getMixins().values().stream()
                .flatMap(mixin -> mixin instanceof BackendOptions named ? named.inFile().stream() : Stream.empty())
                .forEach(secrets::add);
        tell(around, secrets.hide(Text.words(e)));
        if (isVerbose(parsed)) {
            around.err().println(secrets.hide(trace(e)));
        }
        if (e instanceof UsageException) {
            return ExitCode.USAGE;
        }
        if (at.getCommand() instanceof RunCommand) {
            return ExitCode.RUN_FAILED;
        }
        if (e instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        return e instanceof UnavailableException ? ExitCode.UNAVAILABLE : ExitCode.FAILED;
    }

    /**
     * Returns one line for each exception in the chain, with where it came from when it is not one of ours. What a
     * driver says is left out: it may have cut a password out of the URI in a way that nobody recognises; our own
     * messages quote it as far as is safe.
     */
    private static String trace(Throwable e) {
        var text = new StringBuilder();
        for (var one : Causes.of(e)) {
            if (one instanceof ElectionException || one instanceof UsageException) {
                text.append("  ").append(Text.oneLine(one.toString())).append('\n');
            } else {
                text.append("  ").append(one.getClass().getName()).append('\n');
                for (var frame : one.getStackTrace()) {
                    text.append("      at ").append(frame).append('\n');
                }
            }
        }
        return text.toString().stripTrailing();
    }

    private static void tell(CommandEnvironment around, String message) {
        around.err().println(new Paint(around.errColours()).bad("bellwether:") + " " + Text.oneLine(message));
    }

    /** The launcher says which streams are terminals, since Java 17 cannot; without it, none are. */
    private static CommandEnvironment surroundings(OutputStream out, OutputStream errors) {
        var terminals = System.getProperty("bellwether.terminals", "");
        return new CommandEnvironment(
                System.getenv(),
                new BufferedReader(new InputStreamReader(System.in, Charset.defaultCharset())),
                writer(out),
                writer(errors),
                terminals.contains("0"),
                terminals.contains("1"),
                terminals.contains("2"),
                false);
    }

    private static PrintWriter writer(OutputStream stream) {
        return new PrintWriter(new OutputStreamWriter(stream, Charset.defaultCharset()), true);
    }

    /** What the build wrote down. */
    static final class Version implements CommandLine.IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {line()};
        }

        static String line() {
            try (var in = Main.class.getResourceAsStream("version.properties")) {
                var text = in == null ? "" : new String(in.readAllBytes(), Charset.forName("UTF-8"));
                return "bellwether " + text.substring(text.indexOf('=') + 1).strip();
            } catch (IOException e) {
                return "bellwether";
            }
        }
    }
}
