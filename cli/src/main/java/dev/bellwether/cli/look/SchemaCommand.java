package dev.bellwether.cli.look;

import dev.bellwether.cli.command.BackendOptions;
import dev.bellwether.cli.command.CommandEnvironment;
import dev.bellwether.cli.command.ExitCode;
import dev.bellwether.cli.command.Json;
import dev.bellwether.cli.command.UsageException;
import dev.bellwether.sql.SqlSchema;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code bellwether schema} */
@Command(
        name = "schema",
        header = "Print the SQL that makes the tables, to make them by your own means.",
        description = "Connects to find out what kind of database it is, and changes nothing. With"
                + " bellwether.createTable=false in the URI, Bellwether makes no table by itself either.",
        footer = {
            "  bellwether schema --on jdbc:postgresql://db/app",
            "  bellwether schema --on 'jdbc:postgresql://db/app?bellwether.table=ops.elections' | psql"
        })
public final class SchemaCommand implements Callable<Integer> {
    private final CommandEnvironment around;

    @Mixin
    private final BackendOptions target;

    @Option(names = "--json", description = "Print one JSON document.")
    private boolean json;

    public SchemaCommand(CommandEnvironment around) {
        this.around = around;
        target = new BackendOptions(around);
    }

    @Override
    public Integer call() throws Exception {
        var uri = target.uri();
        if (!uri.scheme().equals("jdbc")) {
            throw new UsageException(
                    "only an SQL database has a schema, and " + uri + " is none: name one with --on jdbc:...");
        }
        var ddl = target.ask(uri, () -> SqlSchema.ddl(uri));
        if (json) {
            around.out().println(Json.object(out -> out.writeStringField("ddl", ddl)));
        } else {
            around.out().print(ddl);
            around.out().flush();
        }
        return ExitCode.OK;
    }
}
