package dev.bellwether.cli.look;

import dev.bellwether.Candidate;
import dev.bellwether.Election;
import dev.bellwether.Leader;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Text;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether show} */
@Command(
        name = "show",
        header = "Show one election: its leader and who stands by.",
        footer = {
            "  bellwether show billing",
            "  bellwether show billing --json | jq .leader.token",
            "",
            "Exit codes: 0 somebody leads; 3 nobody does; 4 the backend does not answer.",
            "It shows what was true when the backend looked: a display, not a lock."
        })
public final class ShowCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(paramLabel = "ELECTION", description = "Its name.")
    private String election = "";

    @Option(names = "--json", description = "Print one JSON document.")
    private boolean json;

    public ShowCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        BackendOptions.checked(election);
        Election.State state;
        try (var connected = target.connect()) {
            state = connected.ask(() -> {
                target.warn(connected.backend()); // first: what it tells may be why there is no answer
                return connected.elections().election(election).state();
            });
        }
        if (json) {
            around.out().println(document(state));
        } else {
            page(state);
        }
        return state.leader().isPresent() ? ExitCode.OK : ExitCode.NOBODY_LEADS;
    }

    private String document(Election.State state) {
        return Json.object(json -> {
            json.writeStringField("election", election);
            Json.leader(json, state.leader());
            json.writeBooleanField("ended", state.ended());
            json.writeArrayFieldStart("candidates");
            for (var candidate : state.candidates()) {
                Json.candidate(json, candidate);
            }
            json.writeEndArray();
        });
    }

    private void page(Election.State state) {
        var paint = new Paint(around.colours());
        var rows = new ArrayList<List<String>>();
        rows.add(List.of("Election", election));
        rows.add(List.of(
                "Leader",
                state.leader()
                        .map(Leader::candidate)
                        .orElse(state.ended() ? "nobody: the election has ended" : "nobody")));
        state.leader().ifPresent(one -> {
            rows.add(List.of("Token", Long.toString(one.token())));
            rows.add(List.of(
                    "Since",
                    one.since().truncatedTo(ChronoUnit.SECONDS) + ", for " + Text.age(one.since(), Instant.now())));
            if (!one.metadata().isEmpty()) {
                rows.add(List.of("Metadata", show(one.metadata())));
            }
        });
        var standbys = state.candidates().stream().filter(one -> !one.leads()).toList();
        for (var i = 0; i < standbys.size(); i++) {
            rows.add(List.of(i == 0 ? "Standing by" : "", standby(standbys.get(i))));
        }
        var lines = Text.columns(rows);
        lines.set(0, painted(lines.get(0), election, paint::strong));
        lines.set(1, painted(lines.get(1), rows.get(1).get(1), state.leader().isPresent() ? paint::good : paint::bad));
        lines.forEach(around.out()::println);
    }

    /** Paints the last cell of a line, which is as long as it was before it was made printable. */
    private static String painted(String line, String last, UnaryOperator<String> paint) {
        var at = line.length() - last.length();
        return line.substring(0, at) + paint.apply(line.substring(at));
    }

    private static String standby(Candidate one) {
        return one.id()
                + (one.priority() == 0 ? "" : ", priority " + one.priority())
                + (one.metadata().isEmpty() ? "" : ", " + show(one.metadata()))
                + one.heard()
                        .map(heard -> ", last heard " + Text.age(heard, Instant.now()) + " ago")
                        .orElse("");
    }

    private static String show(Map<String, String> metadata) {
        return new TreeMap<>(metadata)
                .entrySet().stream()
                        .map(one -> one.getKey() + "=" + one.getValue())
                        .collect(Collectors.joining(" "));
    }
}
