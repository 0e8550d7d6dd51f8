package dev.bellwether.cli.demo;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.testkit.faults.LeadershipSampler;
import dev.bellwether.testkit.faults.TermFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * A candidate of the demo, in a process of its own. Looks at {@code isLeader()} some thousand times a second and writes
 * down when it was true, resigns at each line of its standard input, to stand again a lease later, and ends when that
 * does.
 */
@Command(name = "demo-candidate", hidden = true)
public final class DemoCandidate implements Callable<Integer> {
    private static final Duration BETWEEN_LOOKS = Duration.ofNanos(250_000);

    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Option(names = "--id", required = true)
    private String id = "";

    @Option(names = "--election", required = true)
    private String election = "";

    @Option(names = "--lease", required = true)
    private Duration lease = Duration.ZERO;

    @Option(names = "--terms", required = true)
    private Path terms = Path.of("");

    private volatile boolean over;

    public DemoCandidate(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        var file = TermFile.open(terms);
        try (var elections = connect()) {
            while (!over) {
                stand(elections, file);
                if (!over) {
                    around.out().println("resting");
                    TimeUnit.NANOSECONDS.sleep(lease.toNanos()); // or it might win the seat that it has just left
                }
            }
        }
        return ExitCode.OK;
    }

    /** The server may be away at the moment, as others have killed it. */
    private Elections connect() throws Exception {
        while (true) {
            try {
                return target.connect().elections();
            } catch (UnavailableException e) {
                TimeUnit.MILLISECONDS.sleep(200);
            }
        }
    }

    private void stand(Elections elections, TermFile file) throws InterruptedException, IOException {
        var settings = CandidacyConfig.builder().candidate(id).lease(lease).build();
        try (var candidacy = elections.stand(election, settings)) {
            var looker = new LeadershipSampler(LeadershipSampler.Subject.of(candidacy), file, BETWEEN_LOOKS);
            around.out().println("standing");
            if (around.in().readLine() == null) {
                over = true;
            }
            candidacy.resign();
            candidacy.awaitClose();
            looker.close();
        }
    }
}
