package dev.bellwether.outbox;

import dev.bellwether.Elections;
import dev.bellwether.kafka.KafkaElections;
import dev.bellwether.testkit.servers.ProcessReaper;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A relay in a process of its own, with its election on the brokers or anywhere else, which sends itself a signal at a
 * given call of its producer, or a given statement to its database. Ends when its input does.
 */
final class RelayMain {
    private RelayMain() {}

    /**
     * Takes the database, the brokers, the name of outbox and table, the signal, "before" or "after", a call, which
     * one, and a URI of elections.
     */
    public static void main(String[] args) throws Exception {
        var plain = Servers.dataSource(args[0]);
        var bootstrap = args[1];
        var name = args[2];
        var signal = args[3];
        var before = args[4].equals("before");
        var method = args[5];
        var left = new AtomicInteger(Integer.parseInt(args[6]));
        var config = RelayConfig.named(name)
                .table(OutboxTable.named(name))
                .producer(Map.of("bootstrap.servers", bootstrap))
                .maxTransactionRecords(50)
                .once(true)
                .lease(Duration.ofSeconds(2))
                .backoff(Duration.ofMillis(20))
                .listener(event -> System.out.println(event.getClass().getSimpleName()))
                .build();
        var fault = new FaultyProducer.Fault() {
            @Override
            public void before(String called) {
                if (before) {
                    at(called);
                }
            }

            @Override
            public void after(String called) {
                if (!before) {
                    at(called);
                }
            }

            private synchronized void at(String called) {
                if (called.equals(method) && left.decrementAndGet() == 0) {
                    System.out.println(signal);
                    System.out.flush();
                    ProcessReaper.signal(signal, ProcessHandle.current().pid());
                }
            }
        };
        var database = FaultyDatabase.of(plain, fault);
        try (var elections = args.length > 7
                        ? Elections.connect(args[7])
                        : KafkaElections.using(Map.of("bootstrap.servers", bootstrap));
                var relay = OutboxRelay.start(
                        database, config, elections, false, properties -> FaultyProducer.of(properties, fault))) {
            while (System.in.read() >= 0) {
                relay.poke();
            }
        }
    }
}
