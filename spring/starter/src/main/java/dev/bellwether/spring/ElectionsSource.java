package dev.bellwether.spring;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * A client of the application that elections can be held over.
 *
 * @param client its name, as in {@code bellwether.client}
 * @param open begins the elections, without taking over the client
 */
record ElectionsSource(String client, Function<ElectionsConfig, Elections> open) {

    /** Opens what the settings name, or else the one that there is; jointly with where to move to, if that is named. */
    static Elections open(BellwetherProperties properties, List<ElectionsSource> sources, ElectionsConfig config) {
        properties.requireAnotherPlace();
        properties.requireNoneOverlooked();
        var next = properties.getMovingTo();
        if (next == null) {
            return openOne(properties, sources, config);
        }
        var silent = ElectionsConfig.builder() // nobody stands on one of them alone: it has no figures
                .requestTimeout(config.requestTimeout())
                .connectLazily(config.connectLazily())
                .build();
        var open = new ArrayList<Elections>();
        try {
            open.add(openOne(properties, sources, silent));
            open.add(Elections.connect(next, silent));
            return Elections.jointly(open.get(0), open.get(1), config);
        } catch (RuntimeException | Error e) {
            open.forEach(Elections::close);
            throw e;
        }
    }

    private static Elections openOne(
            BellwetherProperties properties, List<ElectionsSource> sources, ElectionsConfig config) {
        var uri = properties.getUri();
        if (uri != null) {
            return Elections.connect(uri, config);
        }
        var client = properties.getClient();
        var names = sources.stream().map(ElectionsSource::client).sorted().toList();
        var chosen = sources.stream()
                .filter(source -> client == null || source.client.equals(client))
                .toList();
        if (chosen.size() > 1) {
            throw new ElectionException(
                    "there are several clients for elections, " + names + ": set bellwether.client to one of them");
        }
        if (chosen.isEmpty()) {
            throw new ElectionException("there is no client for elections: "
                    + (client == null
                            ? "the application has neither a DataSource, spring.kafka, a CuratorFramework nor a NATS"
                                    + " Connection for which a module of Bellwether is on the class path"
                                    + " (bellwether-sql, …)"
                            : "bellwether.client is " + client + ", there are " + names)
                    + "; add the module or the client, or set bellwether.uri (memory: is enough for first steps)");
        }
        return chosen.get(0).open.apply(config);
    }
}
