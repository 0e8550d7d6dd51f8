package dev.bellwether.cli.run;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.Bounded;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.Connected;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Text;
import dev.bellwether.cli.command.UsageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Stack;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.IParameterConsumer;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether run} */
@Command(
        name = "run",
        header = "Run a command only while leading an election.",
        customSynopsis = "bellwether run [OPTIONS] ELECTION [--] COMMAND [ARGUMENTS]",
        description = {
            "Stands for the election, starts the command once it leads, and passes on its exit code. When"
                    + " leadership is lost, the command's whole process group gets SIGTERM, and after --grace SIGKILL,"
                    + " always before anybody else can lead: also if bellwether itself is killed or frozen, because"
                    + " a watchdog process of its own keeps the time.",
            "",
            "The command finds BELLWETHER_ELECTION, BELLWETHER_CANDIDATE and BELLWETHER_TOKEN in its environment. Send"
                    + " the token along with what it writes, and let the resource refuse a lower one."
        },
        parameterListHeading = "",
        footer = {
            "  bellwether run nightly -- ./report.sh --all",
            "      run a script once, on the machine that wins; the others stand by",
            "  bellwether run --restart --lease 5s scheduler -- java -jar scheduler.jar",
            "      keep a service up on exactly one machine",
            "  bellwether run --max-wait 1m backup -- ./backup.sh || [ $? = 124 ]",
            "      from cron on every machine: a machine that does not lead within a minute leaves it to others",
            "  bellwether run --won USR1 --lost USR2 cache -- ./cache-server",
            "      a command that stays: started at the first win, notified by signals after that",
            "",
            "Exit codes: the command's own, or 128 and the signal's number; 2 the command line is wrong;",
            "121 the candidacy failed; 122 the election has ended; 123 leadership was lost and the",
            "command ended for it; 124 it did not lead within --max-wait; 125 bellwether failed; 126 the",
            "command may not be executed; 127 there is no such command; 130 Ctrl-C and 143 SIGTERM, after",
            "handing over."
        })
public final class RunCommand implements Callable<Integer> {
    private static final Duration RESTART_PAUSE = Duration.ofSeconds(1);
    private static final Pattern SIGNAL =
            Pattern.compile("(?:SIG)?(HUP|INT|QUIT|USR1|USR2|TERM|CONT|WINCH|ALRM|URG)", Pattern.CASE_INSENSITIVE);

    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(index = "0", paramLabel = "ELECTION", description = "Its name.", hidden = true)
    private String election = "";

    @Parameters(
            index = "1..*",
            arity = "1..*",
            paramLabel = "COMMAND",
            description = "What to run.",
            hidden = true,
            parameterConsumer = Rest.class)
    private List<String> command = new ArrayList<>();

    @Option(
            names = "--restart",
            description =
                    "Stand again when the command ends or leadership is lost, forever. After an order to stand down"
                            + " or to hand over it stands again in any case.")
    private boolean restart;

    @Option(
            names = "--max-wait",
            paramLabel = "TIME",
            description = "Give up, with code 124, when not leading after this time. Default: wait forever.")
    private Optional<Duration> maxWait = Optional.empty();

    @Option(
            names = "--lease",
            paramLabel = "TIME",
            description =
                    "Hold the seat for this long after each renewal: limits how long it stays empty after a crash."
                            + " Default: 10s, or three times the grace if that is longer.")
    private Optional<Duration> lease = Optional.empty();

    @Option(
            names = "--grace",
            paramLabel = "TIME",
            description = "Time from SIGTERM to SIGKILL, taken from the lease. Default: a fifth of the lease.")
    private Optional<Duration> grace = Optional.empty();

    @Mixin
    private final LeaseOptions standing = new LeaseOptions();

    @Option(
            names = "--won",
            paramLabel = "SIGNAL",
            description =
                    "Keep the command running when leadership is lost, and send it this signal when it is won again."
                            + " The file BELLWETHER_TOKEN_FILE holds the present token, and is empty while not"
                            + " leading.")
    private Optional<String> won = Optional.empty();

    @Option(
            names = "--lost",
            paramLabel = "SIGNAL",
            description = "With --won: the signal for a loss. The seat is handed over --grace later.")
    private Optional<String> lost = Optional.empty();

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing about standing, winning and losing; only errors and warnings.")
    private boolean quiet;

    public RunCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        BackendOptions.checked(election);
        var plan = LeasePlan.of(lease, grace);
        var job = new Watchdog.Job(command, Map.of(), plan.grace(), plan.margin(), signals());
        var settings = standing.settings(plan, first -> {});
        target.onOutage(this::complain);
        Watchdog.check();
        var program = command.get(0);
        if (Programs.find(program).isEmpty()) {
            var found = Programs.exists(program);
            complain(program + (found ? ": not executable" : ": no such command"));
            return found ? ExitCode.RUN_NOT_EXECUTABLE : ExitCode.RUN_NOT_FOUND;
        }
        var began = System.nanoTime();
        var connected = connect(began);
        if (connected == null) {
            return ExitCode.RUN_NOT_WON;
        }
        var elections = connected.elections();
        var hook = new HandOver(elections);
        Runtime.getRuntime().addShutdownHook(hook);
        var code = ExitCode.RUN_FAILED;
        try {
            code = stand(elections, job, settings, hook, began);
            return code;
        } finally {
            hook.done();
            if (code == ExitCode.RUN_NOT_WON) {
                connected.close(); // it holds no seat: nothing is handed over
            } else {
                elections.close();
            }
        }
    }

    /** Stands, again and again if so told, until there is a code to exit with. */
    private int stand(
            Elections elections, Watchdog.Job job, CandidacyConfig settings, HandOver hook, long waitsSinceNanos)
            throws InterruptedException {
        for (var since = waitsSinceNanos; ; since = System.nanoTime()) {
            var begun = System.nanoTime();
            var stand = new RunSession(job, settings.renewInterval().dividedBy(4), restart, this::tell, since);
            hook.stand = stand;
            RunSession.Outcome outcome;
            var gaveUp = false;
            var candidacy = elections.stand(
                    election, settings.toBuilder().listener(stand).build());
            try {
                outcome = outcome(stand);
                stand.leaving();
                gaveUp = outcome == null;
            } finally {
                if (gaveUp) {
                    Bounded.farewell(
                            candidacy::close); // no seat is held, so that a backend that is silent must not keep us
                } else {
                    candidacy.close();
                }
            }
            if (outcome == null) {
                tell("did not lead within " + CommandDurations.show(maxWait.orElseThrow()) + ": giving up");
                return ExitCode.RUN_NOT_WON;
            }
            if (outcome instanceof RunSession.Over) {
                complain("the election has ended: nobody can lead it before it is reopened ('bellwether reopen')");
                return ExitCode.RUN_OVER;
            }
            if (outcome instanceof RunSession.Failed failed) {
                complain("the candidacy has failed: " + failed.why());
                return ExitCode.RUN_CANDIDACY_FAILED;
            }
            if (outcome instanceof RunSession.Broken broken) {
                complain(broken.why());
                return ExitCode.RUN_FAILED;
            }
            if (outcome instanceof RunSession.Exited exited) {
                if (!restart) {
                    return exited.code();
                }
                tell("the command ended with code " + exited.code() + ": standing again");
            } else {
                if (outcome instanceof RunSession.Lost loss && !loss.standsAgain()) {
                    tell("the command was ended: " + loss.why() + (restart ? ": standing again" : ""));
                }
                if (!restart) {
                    return ExitCode.RUN_LOST;
                }
            }
            // A command that fails at once must not keep the seat turning.
            TimeUnit.NANOSECONDS.sleep(begun + RESTART_PAUSE.toNanos() - System.nanoTime());
        }
    }

    /** Returns the outcome that ends this candidacy, or null when it has waited for too long. */
    private RunSession.@Nullable Outcome outcome(RunSession stand) throws InterruptedException {
        while (true) {
            if (maxWait.isPresent() && stand.giveUpIfIdleFor(maxWait.get())) {
                return null;
            }
            var outcome = stand.next(
                    maxWait.map(longest -> longest.minus(stand.idle())).orElse(Duration.ofDays(1)));
            if (outcome instanceof RunSession.Lost loss && loss.standsAgain() && (restart || loss.ordered())) {
                continue; // by itself
            }
            if (outcome != null) {
                return outcome;
            }
        }
    }

    /** Connects, however long that takes; returns null if it takes longer than we may wait. */
    private @Nullable Connected connect(long begun) throws Exception {
        var uri = target.uri();
        for (var first = true; ; first = false) {
            try {
                var connected = target.connect(uri, left(begun));
                if (!first) {
                    target.tellOutageEnded(Duration.ofNanos(System.nanoTime() - begun));
                }
                return connected;
            } catch (UnavailableException e) {
                var givesUp = left(begun).isZero();
                if (first) {
                    complain(uri.redact(String.valueOf(e.getMessage())) + (givesUp ? "" : ". Trying again"));
                }
                if (givesUp) {
                    tell("did not lead within " + CommandDurations.show(maxWait.orElseThrow()) + ": giving up");
                    return null;
                }
                TimeUnit.NANOSECONDS.sleep(
                        Math.min(RESTART_PAUSE.toNanos(), left(begun).toNanos()));
            }
        }
    }

    /** Returns what is left of the longest wait. */
    private Duration left(long sinceNanos) {
        var left = maxWait.orElse(Duration.ofDays(36_500)).minusNanos(System.nanoTime() - sinceNanos);
        return left.isNegative() ? Duration.ZERO : left;
    }

    private Optional<Watchdog.Signals> signals() {
        if (won.isPresent() != lost.isPresent()) {
            throw new UsageException(
                    "--won and --lost belong together: a command that gets the one signal must get the other");
        }
        return won.map(signal -> new Watchdog.Signals(signal("--won", signal), signal("--lost", lost.orElseThrow())));
    }

    private static String signal(String option, String name) {
        var matcher = SIGNAL.matcher(name);
        if (!matcher.matches()) {
            throw new UsageException(
                    option + ": '" + name + "' is not a signal that can notify the command: use one of HUP, INT,"
                            + " QUIT, USR1, USR2, TERM, CONT, WINCH, ALRM, URG");
        }
        return matcher.group(1).toUpperCase(Locale.ROOT);
    }

    private void tell(String message) {
        if (!quiet) {
            complain(message);
        }
    }

    /** Tells it to who wants it quiet, too. */
    private void complain(String message) {
        around.err()
                .println(
                        new Paint(around.errColours()).faint("bellwether: " + election + ": ") + Text.oneLine(message));
    }

    /** The command takes all that is left: its options are its own. */
    private static final class Rest implements IParameterConsumer {
        @Override
        public void consumeParameters(Stack<String> left, ArgSpec parameter, CommandSpec at) {
            List<String> command = parameter.getValue();
            while (!left.isEmpty()) {
                command.add(left.pop());
            }
        }
    }

    /** Hands over when this process is told to end. */
    private static final class HandOver extends Thread {
        private final Elections elections;
        private volatile @Nullable RunSession stand;
        private volatile boolean done;

        private HandOver(Elections elections) {
            super("bellwether-hand-over");
            this.elections = elections;
        }

        private void done() {
            done = true;
        }

        @Override
        public void run() {
            var present = stand;
            if (!done && present != null) {
                present.leaving();
                elections.close();
                present.stop(); // while it stands by nobody tells it to
            }
        }
    }
}
