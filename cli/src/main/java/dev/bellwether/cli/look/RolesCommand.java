package dev.bellwether.cli.look;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.bellwether.RosterState;
import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.Paint;
import dev.bellwether.cli.command.Text;
import dev.bellwether.cli.command.UsageException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code bellwether roles} */
@Command(
        name = "roles",
        header = "Show a roster: its groups, their members, and what each has.",
        footer = {
            "  bellwether roles pricing --on kafka://broker:9092",
            "  bellwether roles pricing --count 1000 --json | jq '.groups[].members[] | {member, roles}'",
            "",
            "Exit codes: 0 every partition has an owner in some group; 3 otherwise; 4 the backend does not answer.",
            "It shows what was true when the backend looked: a display, not a lock."
        })
public final class RolesCommand implements Callable<Integer> {
    private static final int MOST_ROLES = 10_000_000; // as in RosterConfig

    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Parameters(paramLabel = "ROSTER", description = "Its name.")
    private String roster = "";

    @Option(
            names = "--count",
            paramLabel = "N",
            defaultValue = "0",
            description = "Show roles, too: the number of roles. Role j belongs to partition j mod M.")
    private int count;

    @Option(names = "--json", description = "Print one JSON document.")
    private boolean json;

    public RolesCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        BackendOptions.checked(roster);
        if (count < 0 || count > MOST_ROLES) {
            throw new UsageException("--count: no roster has " + count + " roles: give at most " + MOST_ROLES);
        }
        RosterState state;
        try (var connected = target.connect()) {
            state = connected.ask(() -> {
                target.warn(connected.backend());
                return connected.elections().rosterState(roster).orElseGet(() -> new RosterState(roster, 0, List.of()));
            });
        }
        if (json) {
            around.out().println(document(state));
        } else if (state.partitions() == 0) {
            around.err().println("There is no roster \"" + roster + "\" here.");
        } else {
            page(state);
        }
        return state.groups().stream().anyMatch(group -> group.vacant(state.partitions()) == 0)
                ? ExitCode.OK
                : ExitCode.NOBODY_LEADS;
    }

    private String document(RosterState state) {
        return Json.object(json -> {
            json.writeStringField("roster", roster);
            json.writeNumberField("partitions", state.partitions());
            json.writeArrayFieldStart("groups");
            for (var group : state.groups()) {
                json.writeStartObject();
                json.writeStringField("group", group.group());
                json.writeNumberField("vacant", group.vacant(state.partitions()));
                json.writeArrayFieldStart("members");
                for (var member : group.members()) {
                    json.writeStartObject();
                    json.writeStringField("member", member.member());
                    json.writeStringField("host", member.host());
                    numbers(json, "partitions", member.partitions());
                    if (count > 0) {
                        numbers(json, "roles", state.roles(member, count));
                    }
                    json.writeEndObject();
                }
                json.writeEndArray();
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    private static void numbers(JsonGenerator json, String name, List<Integer> numbers) throws IOException {
        json.writeArrayFieldStart(name);
        for (var number : numbers) {
            json.writeNumber(number);
        }
        json.writeEndArray();
    }

    private void page(RosterState state) {
        var rows = new ArrayList<List<String>>();
        rows.add(List.of("GROUP", "MEMBER", "HOST", "HAS", count > 0 ? "ROLES" : "PARTITIONS"));
        for (var group : state.groups()) {
            for (var member : group.members()) {
                var has = count > 0 ? state.roles(member, count) : member.partitions();
                rows.add(List.of(
                        group.group(),
                        member.member(),
                        member.host().isEmpty() ? "-" : member.host(),
                        Integer.toString(has.size()),
                        ranges(has)));
            }
            if (group.vacant(state.partitions()) > 0) {
                rows.add(List.of(
                        group.group(),
                        "(nobody)",
                        "-",
                        Integer.toString(group.vacant(state.partitions())),
                        "partitions"));
            }
        }
        var lines = Text.columns(rows);
        lines.set(0, new Paint(around.colours()).strong(lines.get(0)));
        around.out().println("Roster " + roster + ", " + state.partitions() + " partitions");
        lines.forEach(around.out()::println);
    }

    /** Returns numbers in rising order, as {@code 0-3,7}. */
    public static String ranges(List<Integer> numbers) {
        var text = new StringBuilder();
        for (var i = 0; i < numbers.size(); i++) {
            var first = numbers.get(i);
            while (i + 1 < numbers.size() && numbers.get(i + 1) == numbers.get(i) + 1) {
                i++;
            }
            text.append(text.isEmpty() ? "" : ",").append(first);
            if (!numbers.get(i).equals(first)) {
                text.append('-').append(numbers.get(i));
            }
        }
        return text.isEmpty() ? "-" : text.toString();
    }
}
