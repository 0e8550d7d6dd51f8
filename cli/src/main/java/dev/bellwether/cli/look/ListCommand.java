package dev.bellwether.cli.look;

import dev.bellwether.Election;
import dev.bellwether.Elections;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Text;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether ls} */
@Command(
        name = "ls",
        aliases = "list",
        header = "List the elections, with who leads each.",
        synopsisHeading = "%nUsage: ",
        descriptionHeading = "%n",
        optionListHeading = "%nOptions:%n",
        sortOptions = false,
        footerHeading = "%nExamples:%n",
        footer = {
            "  bellwether ls",
            "  bellwether ls 'billing-*'",
            "  bellwether ls --json | jq -r '.elections[] | select(.leader == null) | .election'",
            "      names of the elections that nobody leads"
        })
public final class ListCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(
            paramLabel = "PATTERN",
            arity = "0..1",
            description = "Only those of this name; * stands for any characters, ? for one. Default: all.")
    private @Nullable String pattern;

    @Option(names = "--json", description = "Print one JSON document.")
    private boolean json;

    public ListCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        Map<String, Election.State> found;
        try (var connected = target.connect()) {
            found = connected.ask(() -> states(connected.elections()));
        }
        if (json) {
            around.out().println(document(found));
        } else if (found.isEmpty()) {
            around.err()
                    .println(
                            pattern == null
                                    ? "No elections yet. Begin one: bellwether run NAME -- COMMAND"
                                    : "No election is called '" + pattern + "'.");
        } else {
            table(found).forEach(around.out()::println);
        }
        return ExitCode.OK;
    }

    private Map<String, Election.State> states(Elections elections) {
        var found = new LinkedHashMap<String, Election.State>();
        for (var name : elections.list()) {
            if (pattern == null || Text.matches(pattern, name)) {
                found.put(name, elections.election(name).state());
            }
        }
        return found;
    }

    private static String document(Map<String, Election.State> found) {
        return Json.object(json -> {
            json.writeArrayFieldStart("elections");
            for (var one : found.entrySet()) {
                json.writeStartObject();
                json.writeStringField("election", one.getKey());
                Json.leader(json, one.getValue().leader());
                json.writeBooleanField("ended", one.getValue().ended());
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    private List<String> table(Map<String, Election.State> found) {
        var now = Instant.now();
        var rows = new ArrayList<List<String>>();
        rows.add(List.of("ELECTION", "TOKEN", "FOR", "LEADER"));
        found.forEach((name, state) -> rows.add(state.leader()
                .map(one -> List.of(name, Long.toString(one.token()), Text.age(one.since(), now), one.candidate()))
                .orElse(List.of(name, "-", "-", state.ended() ? "(ended)" : "(nobody)"))));
        var lines = Text.columns(rows);
        lines.set(0, new Paint(around.colours()).strong(lines.get(0)));
        return lines;
    }
}
