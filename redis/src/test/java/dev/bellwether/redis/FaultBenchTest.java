package dev.bellwether.redis;

import dev.bellwether.fixtures.Scripts;
import dev.bellwether.fixtures.ValkeyServer;
import dev.bellwether.fixtures.ValkeyServers;
import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import dev.bellwether.testkit.faults.FaultBench;
import dev.bellwether.testkit.faults.FaultBench.Setting;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Candidates in processes of their own, all that can go wrong between them, and never two leaders. Ten minutes in the
 * soak profile.
 */
class FaultBenchTest {
    private static final Duration LEASE = Duration.ofMillis(1_500);
    private static final String PREFIX = "?prefix=bench";
    private static final int PLACES = 3;

    @Test
    void noFaultMakesTwoLeadersOnAServerThatKeepsWhatItAcknowledges() {
        try (var server = ValkeyServers.start();
                var ground = new Alone(server, PREFIX)) {
            FaultBench.run(ground, Setting.of("redis", LEASE).withSteps(Scripts.where("libfaketime")));
        }
    }

    private static final class Alone implements BenchEnvironment {
        private final ValkeyServer server;
        private final String rest;
        private final List<FaultProxy> links;

        Alone(ValkeyServer server, String rest) {
            this.server = server;
            this.rest = rest;
            links = IntStream.range(0, PLACES)
                    .mapToObj(place -> FaultProxy.to("127.0.0.1", server.port()))
                    .toList();
        }

        @Override
        public String describe() {
            return "Valkey on one server";
        }

        @Override
        public int places() {
            return PLACES;
        }

        @Override
        public String uri(int place) {
            return "redis://127.0.0.1:" + links.get(place).port() + rest;
        }

        @Override
        public String operatorsUri() {
            return server.uri(rest);
        }

        @Override
        public List<FaultProxy> links(int place) {
            return List.of(links.get(place));
        }

        @Override
        public List<Server> servers() {
            return List.of(server);
        }

        @Override
        public void close() {
            links.forEach(FaultProxy::close);
        }
    }
}
