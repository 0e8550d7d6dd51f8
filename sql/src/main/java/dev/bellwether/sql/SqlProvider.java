package dev.bellwether.sql;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.ElectionsProvider;
import java.time.Duration;
import java.util.Set;

/** Knows {@code jdbc:} URIs. Parameters that begin with {@code bellwether.} are ours, all others the driver's. */
public final class SqlProvider implements ElectionsProvider {
    /** For {@link java.util.ServiceLoader}. */
    public SqlProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("jdbc");
    }

    @Override
    public Backend connect(ConnectUri uri) {
        return SqlLeaseStore.open(Source.of(uri), config(uri));
    }

    @Override
    public void check(ConnectUri uri) {
        config(uri);
        Source.of(uri);
    }

    static SqlConfig config(ConnectUri uri) {
        for (var name : uri.parameters().keySet()) {
            if (name.startsWith(SqlConfig.PREFIX) && !SqlConfig.PARAMETERS.contains(name)) {
                throw new ElectionException("unknown parameter \"" + name + "\" in " + uri + ": known are "
                        + String.join(", ", SqlConfig.PARAMETERS));
            }
        }
        var builder = SqlConfig.builder();
        uri.parameter(SqlConfig.PREFIX + "table").ifPresent(builder::table);
        uri.parameter(SqlConfig.PREFIX + "createTable").ifPresent(v -> builder.createTable(flag("createTable", v)));
        uri.parameter(SqlConfig.PREFIX + "listen").ifPresent(v -> builder.listen(flag("listen", v)));
        uri.parameter(SqlConfig.PREFIX + "poll").ifPresent(v -> builder.poll(duration("poll", v)));
        uri.parameter(SqlConfig.PREFIX + "presence").ifPresent(v -> builder.presence(duration("presence", v)));
        return builder.build();
    }

    private static boolean flag(String name, String value) {
        return switch (value) {
            case "true" -> true;
            case "false" -> false;
            default ->
                throw new ElectionException(
                        SqlConfig.PREFIX + name + " is \"" + value + "\": it must be true or false");
        };
    }

    private static Duration duration(String name, String value) {
        return Durations.parse(value)
                .orElseThrow(() -> new ElectionException(
                        SqlConfig.PREFIX + name + " is \"" + value + "\": it must be a duration such as 500ms"));
    }
}
