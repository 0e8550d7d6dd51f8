package dev.bellwether.benchmarks;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/** One server as a ground: it lives, the ways to it need not. */
public final class LinkedServer implements BenchEnvironment {
    private final String name;
    private final int port;
    private final IntFunction<String> uri;
    private final List<FaultProxy> links;

    /**
     * The server at this port of the loopback interface; contestants connect to what is made of the port of their link.
     */
    public LinkedServer(String name, int port, int places, IntFunction<String> uri) {
        this.name = name;
        this.port = port;
        this.uri = uri;
        links = Stream.generate(() -> FaultProxy.to("127.0.0.1", port))
                .limit(places)
                .toList();
    }

    @Override
    public String describe() {
        return name;
    }

    @Override
    public int places() {
        return links.size();
    }

    @Override
    public String uri(int place) {
        return uri.apply(links.get(place).port());
    }

    @Override
    public String operatorsUri() {
        return uri.apply(port);
    }

    @Override
    public List<FaultProxy> links(int place) {
        return List.of(links.get(place));
    }

    @Override
    public void close() {
        links.forEach(FaultProxy::close);
    }
}
