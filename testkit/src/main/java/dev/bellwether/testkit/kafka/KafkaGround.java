package dev.bellwether.testkit.kafka;

import dev.bellwether.testkit.FaultProxy;
import dev.bellwether.testkit.faults.BenchEnvironment;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * Brokers as the ground of a fault bench, with so many places as they have links.
 *
 * @param uri what contestants connect to, from the addresses of the brokers
 * @param coordinator tells which of them coordinates the groups; only who asks for the leader of several needs it
 */
public record KafkaGround(KafkaBrokers all, int places, UnaryOperator<String> uri, Supplier<Broker> coordinator)
        implements BenchEnvironment {

    @Override
    public String describe() {
        var count = all.brokers().size();
        return "Kafka on " + count + (count == 1 ? " broker" : " brokers");
    }

    @Override
    public String uri(int place) {
        return uri.apply(all.bootstrap(place));
    }

    @Override
    public String operatorsUri() {
        return uri.apply(all.bootstrap());
    }

    @Override
    public List<FaultProxy> links(int place) {
        return all.brokers().stream().map(broker -> broker.link(place)).toList();
    }

    @Override
    public List<Server> servers() {
        return List.copyOf(all.brokers());
    }

    @Override
    public Server leader() {
        return coordinator.get();
    }
}
