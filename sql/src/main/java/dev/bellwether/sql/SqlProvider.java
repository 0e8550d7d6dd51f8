package dev.bellwether.sql;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
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
        uri.flag(SqlConfig.PREFIX + "createTable").ifPresent(builder::createTable);
        uri.flag(SqlConfig.PREFIX + "listen").ifPresent(builder::listen);
        uri.duration(SqlConfig.PREFIX + "poll").ifPresent(builder::poll);
        uri.duration(SqlConfig.PREFIX + "presence").ifPresent(builder::presence);
        return builder.build();
    }
}
