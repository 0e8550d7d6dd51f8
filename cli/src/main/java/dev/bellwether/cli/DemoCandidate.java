package dev.bellwether.cli;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.LeadershipEvent;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A candidate of the demo, in a process of its own: tells its turns on standard output, and ends when its standard input does. */
@Command(name = "demo-candidate", hidden = true)
final class DemoCandidate implements Callable<Integer> {
    private final Surroundings around;

    @Mixin
    private final Target target;

    @Option(names = "--id", required = true)
    private String id = "";

    @Option(names = "--lease", required = true)
    private Duration lease = Duration.ZERO;

    DemoCandidate(Surroundings around) {
        this.around = around;
        target = new Target(around);
    }

    @Override
    public Integer call() throws IOException {
        var settings = CandidacyConfig.builder()
                .candidate(id)
                .lease(lease)
                .listener(this::tell)
                .build();
        try (var elections = target.connect();
                var candidacy = elections.stand(DemoCommand.ELECTION, settings)) {
            around.out().println("standing " + candidacy.candidate());
            while (around.in().readLine() != null) {
                candidacy.resign(); // whatever is typed means: go
            }
        }
        return ExitCode.OK;
    }

    /** The clock is that of the machine, so that the demo can compare what different processes tell. */
    private void tell(LeadershipEvent event) {
        if (event instanceof LeadershipEvent.Acquired acquired) {
            around.out()
                    .println("leads " + System.nanoTime() + " "
                            + acquired.mandate().token());
        } else if (event instanceof LeadershipEvent.Revoked revoked) {
            around.out().println("left " + System.nanoTime() + " " + revoked.cause());
        } else if (event instanceof LeadershipEvent.Fenced fenced) {
            around.out().println("left " + System.nanoTime() + " " + fenced.cause());
        }
    }
}
