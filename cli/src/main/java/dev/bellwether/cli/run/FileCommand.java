package dev.bellwether.cli.run;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.LeadershipEvent;
import dev.bellwether.Mandate;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether file} */
@Command(
        name = "file",
        header = "Keep a file fresh while leading, for scripts and cron.",
        description = {
            "Stands for the election and, while it leads, keeps rewriting FILE, each time in one step; when it leads"
                    + " no more, the file is gone. With --check, tells whether the file is there and its writer"
                    + " still leads: the file says until when, and the backend is not asked. A file whose writer was"
                    + " killed or frozen is too old when its mandate is over. It leaves files alone that it did not"
                    + " write."
        },
        footer = {
            "  bellwether file /run/nightly.leader nightly &",
            "  17 3 * * *  bellwether file --check /run/nightly.leader && ./report.sh      # in a crontab",
            "",
            "Exit codes of --check: 0 the file is fresh; 3 it is missing or too old; 1 it cannot be read, so that",
            "nobody is known to lead. Otherwise: 130 Ctrl-C and 143 SIGTERM, after handing over; 0 --for is over;",
            "1 the file cannot be written, or the election has ended; 2 the command line is wrong, or FILE is not",
            "ours; 4 the backend does not answer; 5 the candidacy failed, by an error that no retry can fix."
        })
public final class FileCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(index = "0", paramLabel = "FILE", description = "The file.")
    private Path file = Path.of("");

    @Parameters(index = "1", arity = "0..1", paramLabel = "ELECTION", description = "Its name.")
    private Optional<String> election = Optional.empty();

    @Option(names = "--check", description = "Only look at the file, and whether it is of ELECTION if that is named.")
    private boolean check;

    @Option(
            names = "--lease",
            paramLabel = "TIME",
            description = "Hold the seat for this long after each renewal; limits how old a file --check accepts."
                    + " Default: 10s.")
    private Duration lease = Duration.ofSeconds(10);

    @Mixin
    private final StandOptions standing = new StandOptions();

    @Option(
            names = "--for",
            paramLabel = "TIME",
            description = "Hand over and end after this time. Default: stand forever.")
    private Optional<Duration> limit = Optional.empty();

    public FileCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        var fresh = new FreshFile(file);
        if (check) {
            var why = fresh.check();
            if (why.isEmpty() && election.isPresent() && !fresh.isOf(election.get())) {
                why = file + " was not written for \"" + election.get() + '"';
            }
            if (!why.isEmpty()) {
                around.complain(why);
            }
            return why.isEmpty() ? ExitCode.OK : ExitCode.NOBODY_LEADS;
        }
        var name = BackendOptions.checked(
                election.orElseThrow(() -> new UsageException("name an election to stand for, or say --check")));
        if (!Files.isDirectory(
                Optional.ofNullable(file.toAbsolutePath().getParent()).orElse(file))) {
            throw new UsageException("the folder of " + file + " does not exist");
        }
        fresh.requireOursOrNothing(name);
        target.onOutage(what -> around.complain(name + ": " + what));
        return stand(name, fresh);
    }

    private int stand(String name, FreshFile fresh) throws Exception {
        var over = new CountDownLatch(1);
        var config = BackendOptions.settings(() -> {
            var settings = CandidacyConfig.builder().lease(lease).listener(event -> {
                if (event instanceof LeadershipEvent.Revoked || event instanceof LeadershipEvent.Fenced) {
                    fresh.withdraw(); // in order, the seat passes on when this has returned
                } else if (event instanceof LeadershipEvent.Ended || event instanceof LeadershipEvent.Failed) {
                    over.countDown();
                }
            });
            standing.set(settings);
            return settings.build();
        });
        var interval = config.renewInterval().dividedBy(4);
        // Once the mandate has ended, the seat is kept for no longer than this, measured by the backend's clock.
        var longest = Duration.ofNanos((long) (config.standDownBudget().toNanos() * (1 - config.driftBound())));
        var end = System.nanoTime() + limit.orElse(Duration.ofDays(36_500)).toNanos();
        try (var elections = target.connect().elections();
                var onSignal = HandOverOnSignal.by(elections::close); // before it stands: no seat is left to run out
                var candidacy = elections.stand(name, config)) {
            while (System.nanoTime() - end < 0) {
                var mandate = await(candidacy, Duration.ofNanos(pause(interval, end)));
                if (mandate.isPresent()) {
                    fresh.write(mandate.get(), longest);
                } else {
                    fresh.removeStale(name); // we stand, so it is ours to tidy up
                }
                if (over.await(mandate.isPresent() ? pause(interval, end) : 0, TimeUnit.NANOSECONDS)) {
                    return onSignal.hasBegun() ? ExitCode.OK : tellEnd(candidacy); // a signal has its own code
                }
            }
        } finally {
            fresh.remove();
        }
        return ExitCode.OK;
    }

    private static long pause(Duration interval, long endNanos) {
        return Math.max(0, Math.min(interval.toNanos(), endNanos - System.nanoTime()));
    }

    /** Returns nothing of a candidacy that has failed, too: of that the listener tells. */
    private static Optional<Mandate> await(Candidacy candidacy, Duration interval) throws InterruptedException {
        try {
            return candidacy.await(interval);
        } catch (ElectionException e) {
            return Optional.empty();
        }
    }

    /** Tells why it stands no more, though nobody here has asked for that. */
    private int tellEnd(Candidacy candidacy) {
        var failure = candidacy.failure();
        around.complain(candidacy.election() + ": "
                + failure.map(error -> "the candidacy has failed: " + error.getMessage())
                        .orElse("the election has ended: nobody can lead it before it is reopened"
                                + " ('bellwether reopen')"));
        return failure.isPresent() ? ExitCode.CANDIDACY_FAILED : ExitCode.FAILED;
    }
}
