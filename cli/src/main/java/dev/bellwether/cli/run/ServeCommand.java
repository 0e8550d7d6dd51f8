package dev.bellwether.cli.run;

import dev.bellwether.Elections;
import dev.bellwether.Phase;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.cli.page.ListenOptions;
import dev.bellwether.cli.page.LocalHttp;
import dev.bellwether.spi.HostName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether serve} */
@Command(
        name = "serve",
        header = "Stand for elections beside a process in any language, which asks by HTTP whether it leads.",
        description = {
            "Stands for each ELECTION and answers on the loopback: GET /isleader with 200 or 503, and with the"
                    + " milliseconds for which that is certain and the token; GET /leader with {\"name\": …}, as"
                    + " nais's elector does; GET /elections/NAME; and GET /events, a stream. With more than one"
                    + " election, add ?election=NAME.",
            "",
            "The milliseconds count from the instant at which the request was sent: a client that stops by then has"
                    + " stopped before anybody else leads, also if this process is killed or frozen."
        },
        footer = {
            "  bellwether serve billing &",
            "  curl -s localhost:4040/isleader      # 1987 7: leads under token 7, for 1987 ms from before curl asked",
            "  curl -X POST -H \"X-Bellwether-Token: $(cat token)\" localhost:4040/stand-down",
            "",
            "Exit codes: 130 Ctrl-C and 143 SIGTERM, after handing over; 0 --for or --pid is over; 1 all the",
            "elections have ended; 2 the command line is wrong, or the port is taken; 4 the backend does not",
            "answer at the start; 5 a candidacy failed, by an error that no retry can fix."
        })
public final class ServeCommand implements Callable<Integer> {
    private static final int SHORTEST_TOKEN = 16;
    private static final Duration LOOK = Duration.ofMillis(100);

    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(arity = "1..*", paramLabel = "ELECTION", description = "Its name. May be given again.")
    private List<String> elections = new ArrayList<>();

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "4040",
            description = "The port; 0 for a free one. Default: 4040.")
    private int port;

    @Mixin
    private final ListenOptions listen = new ListenOptions();

    @Option(
            names = "--token-file",
            paramLabel = "FILE",
            description =
                    "The file with the token that orders need. Default: a random one, which is printed at the start.")
    private Optional<Path> tokenFile = Optional.empty();

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
            description =
                    "No answer is valid for longer than this, and a hand-over waits for the last one. Default: a fifth"
                            + " of the lease.")
    private Optional<Duration> grace = Optional.empty();

    @Mixin
    private final LeaseOptions standing = new LeaseOptions();

    @Option(
            names = "--pid",
            paramLabel = "PID",
            description =
                    "Hand over and end when this process has ended: the one that asks. Default: stand on without it.")
    private Optional<Long> pid = Optional.empty();

    @Option(
            names = "--for",
            paramLabel = "TIME",
            description = "Hand over and end after this time. Default: stand forever.")
    private Optional<Duration> limit = Optional.empty();

    public ServeCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        var names = new LinkedHashSet<String>();
        for (var name : elections) {
            if (!names.add(BackendOptions.checked(name))) {
                throw new UsageException("\"" + name + "\" is named twice: once is enough");
            }
        }
        var plan = LeasePlan.of(lease, grace);
        var settings = standing.settings(plan, first -> first.candidate(hostName()));
        var process = pid.map(ServeCommand::running);
        var token = tokenFile.map(ServeCommand::read).orElseGet(LocalHttp::random);
        target.onOutage(this::tell);
        try (var http = LocalHttp.listen(listen.place(port), "bellwether-serve"); // first: it fails fast
                var connected = target.connect().elections()) {
            return stay(
                    http,
                    token,
                    connected,
                    () -> names.stream()
                            .map(name -> new ServedElection(connected, name, settings, plan))
                            .toList(),
                    process);
        }
    }

    /** Stands until there is a reason to end; then hands over, and answers meanwhile that it leads no more. */
    private int stay(
            LocalHttp http,
            String token,
            Elections connected,
            Supplier<List<ServedElection>> standing,
            Optional<ProcessHandle> process)
            throws InterruptedException {
        var answering = new AtomicReference<@Nullable SideCar>();
        // Before it stands: a signal that comes at once leaves no seat to run out.
        try (var onSignal = HandOverOnSignal.by(() -> {
            connected.close();
            Optional.ofNullable(answering.get()).ifPresent(SideCar::close);
        })) {
            var served = standing.get();
            try (var sideCar = SideCar.start(http, served, token)) {
                answering.set(sideCar);
                announce(http, token);
                var code = awaitReason(served, process, onSignal);
                connected.close();
                return code;
            }
        }
    }

    private void announce(LocalHttp http, String token) {
        around.out()
                .println("Standing in " + String.join(", ", elections) + ":  " + http.address() + "isleader"
                        + (tokenFile.isPresent() ? "" : "  (token for orders: " + token + ")"));
        around.out().flush();
    }

    /** Returns the exit code, when there is a reason to end. */
    private int awaitReason(List<ServedElection> served, Optional<ProcessHandle> process, HandOverOnSignal onSignal)
            throws InterruptedException {
        var standing = new ArrayList<>(served);
        var end = System.nanoTime() + limit.orElse(Duration.ofDays(36_500)).toNanos();
        while (System.nanoTime() - end < 0) {
            if (process.filter(Programs::hasEnded).isPresent()) {
                tell("process " + process.get().pid() + " has ended: handing over");
                return ExitCode.OK;
            }
            var code = codeOf(standing, onSignal);
            if (code.isPresent()) {
                return code.get();
            }
            TimeUnit.NANOSECONDS.sleep(Math.min(LOOK.toNanos(), Math.max(1, end - System.nanoTime())));
        }
        return ExitCode.OK;
    }

    /**
     * Tells of those that have ended since, and takes them out. It stands in the others as before: to end with one
     * would give up the seats of all.
     */
    private Optional<Integer> codeOf(List<ServedElection> standing, HandOverOnSignal onSignal) {
        var over = standing.stream()
                .filter(one -> one.candidacy().status().phase() == Phase.CLOSED)
                .toList();
        if (onSignal.hasBegun()) { // asked after that: it may be the signal that has closed them
            return Optional.empty();
        }
        for (var one : standing) {
            var failure = one.candidacy().failure();
            if (failure.isPresent()) {
                tell(one.candidacy().election() + ": the candidacy has failed: "
                        + failure.get().getMessage());
                return Optional.of(ExitCode.CANDIDACY_FAILED);
            }
        }
        standing.removeAll(over);
        over.forEach(one -> tell(one.candidacy().election()
                + ": ended: nobody can lead before it is reopened ('bellwether reopen'); start this process again after"
                + " that"));
        return standing.isEmpty() ? Optional.of(ExitCode.FAILED) : Optional.empty();
    }

    private static String hostName() {
        return HostName.own()
                .orElseThrow(() -> new UsageException("this host has no name to stand under: give an id with --id"));
    }

    private static ProcessHandle running(long pid) {
        return ProcessHandle.of(pid)
                .filter(process -> !Programs.hasEnded(process))
                .orElseThrow(() -> new UsageException("--pid: there is no process " + pid));
    }

    private static String read(Path file) {
        String token;
        try {
            token = Files.readString(file).strip();
        } catch (IOException e) {
            throw new UsageException("--token-file: " + file + " cannot be read: it must hold the token for orders", e);
        }
        if (token.length() < SHORTEST_TOKEN) {
            throw new UsageException("--token-file: the token in " + file + " has " + token.length()
                    + " characters: at least " + SHORTEST_TOKEN + " are needed, so that nobody can guess it");
        }
        return token;
    }

    private void tell(String message) {
        around.complain(message);
    }
}
