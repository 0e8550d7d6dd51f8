package dev.bellwether.cli.look;

import dev.bellwether.Election;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.Connected;
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
        Found found;
        try (var connected = target.connect()) {
            found = states(connected);
        }
        found.unknown().forEach((name, why) -> around.complain("warning: " + name + ": " + why));
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
        return found.unknown().isEmpty() ? ExitCode.OK : ExitCode.FAILED;
    }

    /**
     * What there is.
     *
     * @param unknown why nothing is known of an election: its record cannot be read, for example
     */
    private record Found(Map<String, Election.State> states, Map<String, String> unknown) {
        boolean isEmpty() {
            return states.isEmpty() && unknown.isEmpty();
        }
    }

    /** Each election has the time by itself: there may be any number of them. */
    private Found states(Connected connected) throws Exception {
        var elections = connected.elections();
        var found = new Found(new LinkedHashMap<>(), new LinkedHashMap<>());
        for (var name : connected.ask(elections::list)) {
            if (pattern == null || Text.matches(pattern, name)) {
                connected.again();
                try {
                    found.states().put(name, connected.ask(elections.election(name)::state));
                } catch (UnavailableException e) {
                    throw e;
                } catch (ElectionException e) { // of this one: it must not hide the others
                    found.unknown().put(name, String.valueOf(e.getMessage()));
                }
            }
        }
        return found;
    }

    private static String document(Found found) {
        return Json.object(json -> {
            json.writeArrayFieldStart("elections");
            for (var one : found.states().entrySet()) {
                json.writeStartObject();
                json.writeStringField("election", one.getKey());
                Json.leader(json, one.getValue().leader());
                json.writeBooleanField("ended", one.getValue().ended());
                json.writeEndObject();
            }
            json.writeEndArray();
            if (!found.unknown().isEmpty()) {
                json.writeArrayFieldStart("unknown");
                for (var one : found.unknown().entrySet()) {
                    json.writeStartObject();
                    json.writeStringField("election", one.getKey());
                    json.writeStringField("why", one.getValue());
                    json.writeEndObject();
                }
                json.writeEndArray();
            }
        });
    }

    private List<String> table(Found found) {
        var now = Instant.now();
        var rows = new ArrayList<List<String>>();
        rows.add(List.of("ELECTION", "TOKEN", "FOR", "LEADER"));
        found.states()
                .forEach((name, state) -> rows.add(state.leader()
                        .map(one ->
                                List.of(name, Long.toString(one.token()), Text.age(one.since(), now), one.candidate()))
                        .orElse(List.of(name, "-", "-", state.ended() ? "(ended)" : "(nobody)"))));
        found.unknown().keySet().forEach(name -> rows.add(List.of(name, "?", "?", "(unknown)")));
        var lines = Text.columns(rows);
        lines.set(0, new Paint(around.colours()).strong(lines.get(0)));
        return lines;
    }
}
