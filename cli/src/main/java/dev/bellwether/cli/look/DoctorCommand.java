package dev.bellwether.cli.look;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandDurations;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.Connected;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Text;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.Finding;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether doctor} */
@Command(
        name = "doctor",
        header = "Say what the backend really grants, and what that means: how long a seat may be vacant, and what"
                + " voids a promise.",
        footer = {
            "  bellwether doctor --on kafka://broker:9092 --lease 5s",
            "  bellwether doctor billing --on-file /run/secrets/elections --json",
            "",
            "Exit codes: 0 no error was found; 1 a promise is void, or no election can be held; 4 no answer."
        })
public final class DoctorCommand implements Callable<Integer> {
    private static final int LOOKS = 5;
    private static final int SIGNS_TOLD = 5;

    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(paramLabel = "ELECTION", arity = "0..1", description = "Examine this one, too.")
    private @Nullable String election;

    @Option(names = "--lease", paramLabel = "TIME", description = "The lease to stand with. Default: 10s.")
    private Optional<Duration> lease = Optional.empty();

    @Option(
            names = "--stand-down-budget",
            paramLabel = "TIME",
            description = "How long work may take to end, once the mandate has. Default: a fifth of the lease.")
    private Optional<Duration> budget = Optional.empty();

    @Option(names = "--json", description = "Print one JSON document.")
    private boolean json;

    public DoctorCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around, Duration.ofSeconds(20)); // it asks each server by itself
    }

    @Override
    public Integer call() throws Exception {
        var name = election == null ? Optional.<String>empty() : Optional.of(BackendOptions.checked(election));
        var config = config();
        var uri = target.uri();
        var findings = new ArrayList<Finding>(mandate(config));
        try {
            try (var connected = target.connect(uri)) {
                findings.addAll(connected.ask(() -> found(connected, name, config)));
            }
        } catch (UnavailableException e) {
            throw e;
        } catch (ElectionException e) {
            findings.add(refused(e, uri.toString()));
        }
        if (json) {
            around.out().println(document(uri.toString(), findings));
        } else {
            print(findings);
        }
        return findings.stream().anyMatch(one -> one.level() == Finding.Level.ERROR) ? ExitCode.FAILED : ExitCode.OK;
    }

    private List<Finding> found(Connected connected, Optional<String> name, CandidacyConfig config) {
        var backend = connected.backend();
        var all = new ArrayList<>(examined(backend, name.orElse("bellwether-doctor"), config));
        all.add(margin(config, backend.renewal(config), backend.recovery(config)));
        all.addAll(answers(connected.elections(), name, config));
        return all;
    }

    private CandidacyConfig config() {
        return BackendOptions.settings(() -> {
            var builder = CandidacyConfig.builder();
            lease.ifPresent(builder::lease);
            budget.ifPresent(builder::standDownBudget);
            return builder.build();
        });
    }

    /** A lease that the backend refuses is the first thing to know; then nobody can stand, whatever else there is. */
    private static List<Finding> examined(Backend backend, String name, CandidacyConfig config) {
        var all = new ArrayList<Finding>();
        try {
            backend.check(name, config);
            all.add(Finding.ok(
                    "lease", backend.describe() + " takes a lease of " + CommandDurations.show(config.lease())));
        } catch (UnavailableException e) {
            throw e;
        } catch (ElectionException e) {
            all.add(refused(e, backend.describe()));
        }
        all.addAll(backend.findings(config));
        return all;
    }

    private static Finding refused(ElectionException e, String where) {
        return Finding.error(
                "refused", String.valueOf(e.getMessage()), "fix what it names, or connect elsewhere than " + where);
    }

    /** What follows from the settings alone. */
    private static List<Finding> mandate(CandidacyConfig config) {
        var lease = config.lease();
        var drift = Duration.ofNanos((long) (lease.toNanos() * config.driftBound()));
        var usable = lease.minus(drift).minus(config.standDownBudget());
        var all = new ArrayList<Finding>();
        all.add(Finding.ok(
                "mandate",
                "each renewal gives " + millis(usable) + ": lease " + millis(lease) + " - drift " + millis(drift)
                        + " - stand-down budget " + millis(config.standDownBudget())));
        all.add(Finding.ok(
                "safety",
                "between the end of a mandate and the next there are drift " + millis(drift) + " + stand-down budget "
                        + millis(config.standDownBudget()) + ", by the slower clock"));
        return all;
    }

    /** What is left of a mandate when the next proof comes, and all was well; and of that in an outage. */
    private static Finding margin(CandidacyConfig config, Duration renewal, Duration recovery) {
        var lease = config.lease();
        var drift = Duration.ofNanos((long) (lease.toNanos() * config.driftBound()));
        var usable = lease.minus(drift).minus(config.standDownBudget());
        var spare = usable.minus(renewal);
        var sum = "mandate " + millis(usable) + " - "
                + (renewal.equals(config.renewInterval())
                        ? "renewal every " + millis(renewal)
                        : "age of a proof when the next one comes " + millis(renewal));
        if (spare.isNegative() || spare.isZero()) {
            return Finding.error(
                    "margin", "a mandate ends before the next proof comes: " + sum, "make the lease longer");
        }
        var outage = spare.minus(recovery);
        var all = sum + " - until a proof comes after it " + millis(recovery);
        return outage.isNegative() || outage.isZero()
                ? Finding.warning("margin", "any outage may end a mandate: " + all, "make the lease longer")
                : Finding.ok(
                        "margin",
                        "an outage of " + millis(outage) + " changes nothing, less a round trip, if requests fail at"
                                + " once while it lasts: " + all);
    }

    private List<Finding> answers(Elections elections, Optional<String> name, CandidacyConfig config) {
        var asked = elections.election(name.orElse("bellwether-doctor"));
        var nanos = IntStream.range(0, LOOKS)
                .mapToLong(i -> {
                    var before = System.nanoTime();
                    asked.state();
                    return System.nanoTime() - before;
                })
                .sorted()
                .toArray();
        var all = new ArrayList<Finding>();
        var median = Duration.ofNanos(nanos[LOOKS / 2]);
        var says = "an answer takes " + millis(median) + " (median of " + LOOKS + ")";
        all.add(
                median.compareTo(config.retryInterval()) > 0
                        ? Finding.warning(
                                "round trip",
                                says + ", longer than the retry interval of " + millis(config.retryInterval()),
                                "make the lease longer, or find out why it is slow")
                        : Finding.ok("round trip", says));
        if (name.isPresent()) {
            all.add(seat(asked.state(), name.get()));
        }
        return all;
    }

    private static Finding seat(Election.State state, String name) {
        if (state.ended()) {
            return Finding.warning("election", name + " has ended: nobody may stand", "bellwether reopen " + name);
        }
        var standbys = state.candidates().stream().filter(one -> !one.leads()).count();
        if (state.leader().isEmpty()) {
            return Finding.warning("election", "nobody leads " + name, "start a candidate");
        }
        var leads = state.leader().get().candidate() + " leads " + name + ", token "
                + state.leader().get().token();
        return standbys == 0
                ? Finding.warning("election", leads + ", and nobody is known to stand by", "start another candidate")
                : Finding.ok("election", leads + "; " + standbys + " stand by" + heard(state));
    }

    /**
     * Who was killed is listed for a while where standbys give signs only now and then: it is told when the last was.
     */
    private static String heard(Election.State state) {
        var now = Instant.now();
        var signs = state.candidates().stream()
                .filter(one -> !one.leads())
                .flatMap(one -> one.heard().stream().map(heard -> one.id() + " " + Text.age(heard, now) + " ago"))
                .limit(SIGNS_TOLD)
                .toList();
        return signs.isEmpty() ? "" : ", last heard: " + String.join(", ", signs);
    }

    private void print(List<Finding> findings) {
        var paint = new Paint(around.colours());
        for (var one : findings) {
            var level = one.level().name().toLowerCase(Locale.ROOT);
            var painted = switch (one.level()) {
                case OK -> paint.good("%-7s".formatted(level));
                case WARNING -> paint.strong("%-7s".formatted(level));
                case ERROR -> paint.bad("%-7s".formatted(level));
            };
            around.out()
                    .println(painted + "  " + paint.strong("%-11s".formatted(one.about())) + "  "
                            + Text.oneLine(one.says()));
            if (!one.remedy().isEmpty()) {
                around.say(" ".repeat(22) + "-> " + one.remedy());
            }
        }
    }

    private static String document(String on, List<Finding> findings) {
        return Json.object(json -> {
            json.writeStringField("on", on);
            json.writeArrayFieldStart("findings");
            for (var one : findings) {
                json.writeStartObject();
                json.writeStringField("level", one.level().name().toLowerCase(Locale.ROOT));
                json.writeStringField("about", one.about());
                json.writeStringField("says", one.says());
                if (!one.remedy().isEmpty()) {
                    json.writeStringField("remedy", one.remedy());
                }
                if (!one.terms().isEmpty()) {
                    json.writeNumberField("millis", one.sum().toMillis());
                    json.writeObjectFieldStart("terms");
                    for (var term : one.terms()) {
                        json.writeNumberField(term.name(), term.length().toMillis());
                    }
                    json.writeEndObject();
                }
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    private static String millis(Duration length) {
        return length.compareTo(Duration.ofMillis(10)) < 0
                ? String.format(Locale.ROOT, "%.1f ms", length.toNanos() / 1e6)
                : length.toMillis() + " ms";
    }
}
