package dev.bellwether.benchmarks.kafka;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.benchmarks.Costs;
import dev.bellwether.benchmarks.OurClient;
import dev.bellwether.kafka.KafkaElections;
import dev.bellwether.testkit.kafka.KafkaBrokers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Elections by the log of a topic beside those by groups, on one broker: what many cost, how long a newcomer takes to
 * read the log after a day of it, and how long a seat stays empty. Arguments: rounds, seconds of counting, elections by
 * the log (0 for the seat that is empty alone), elections by groups.
 */
final class LogFigures {
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final String TOPIC = "figures-log";
    /** One process whose elections share one record, renewed three times in each lease of two seconds, for a day. */
    private static final int RECORDS_OF_A_DAY = 3 * 86_400 / 2;

    private LogFigures() {}

    public static void main(String[] arguments) {
        Costs.andEnd(() -> measure(arguments));
    }

    private static int argument(String[] arguments, int number, int otherwise) {
        return arguments.length > number ? Integer.parseInt(arguments[number]) : otherwise;
    }

    private static void measure(String[] arguments) throws Exception {
        var rounds = argument(arguments, 0, 30);
        var seconds = Duration.ofSeconds(argument(arguments, 1, 30));
        var byLog = argument(arguments, 2, 10_000);
        var byGroups = argument(arguments, 3, 1_000);
        try (var brokers = KafkaBrokers.start(1, 1, Map.of())) {
            if (byLog > 0) {
                costs(brokers, seconds, byLog, byGroups);
            }
            FailOver.measure(
                    List.of(
                            new BellwetherOnKafka("by log", "?by=log&longest.lease=2s&topic=" + TOPIC + "-failover"),
                            new BellwetherOnKafka("by groups", "")),
                    brokers,
                    List.of(Duration.ofMillis(300), Duration.ofSeconds(1), Duration.ofSeconds(2)),
                    rounds);
        }
    }

    private static void costs(KafkaBrokers brokers, Duration seconds, int byLog, int byGroups)
            throws InterruptedException {
        var query = "?by=log&topic=" + TOPIC;
        try (var elections = Elections.connect("kafka://" + brokers.bootstrap() + query);
                var first = elections.stand("first", CandidacyConfig.ofLease(LEASE))) {
            var begun = System.nanoTime();
            await(first);
            System.out.printf("a topic that is new: the first leads after %.1f s%n", (System.nanoTime() - begun) / 1e9);
        }
        var costs = new Costs(
                "Kafka on 1 broker",
                Integer.parseInt(brokers.bootstrap().replaceAll(".*:", "")),
                RequestCount::sent,
                "requests/s",
                seconds);
        var counted =
                Map.of("bootstrap.servers", brokers.bootstrap(), "metric.reporters", RequestCount.class.getName());
        Costs.Make groups = lease -> new OurClient(KafkaElections.using(counted), lease);
        Costs.Make log = lease -> new OurClient(
                KafkaElections.using(Map.of(
                        "bootstrap.servers",
                        brokers.bootstrap(),
                        "metric.reporters",
                        RequestCount.class.getName(),
                        "by",
                        "log",
                        "topic",
                        TOPIC)),
                lease);
        costs.many("by log", log, LEASE, byLog);
        costs.many("by groups", groups, LEASE, byGroups);
        costs.standBy("by log", log, LEASE);
        costs.standBy("by groups", groups, LEASE);
        afterADay(brokers, query, byLog);
    }

    /** What a process writes that keeps its leases is written again as often: it is void, and read all the same. */
    private static void afterADay(KafkaBrokers brokers, String query, int count) throws InterruptedException {
        try (var elections = Elections.connect("kafka://" + brokers.bootstrap() + query)) {
            var all = IntStream.range(0, count)
                    .mapToObj(i -> elections.stand("day-" + i, CandidacyConfig.ofLease(LEASE)))
                    .toList();
            for (var one : all) {
                await(one);
            }
            Thread.sleep(LEASE.dividedBy(3).plusSeconds(2).toMillis()); // renewed
            var last = last(brokers);
            try (var producer = new KafkaProducer<>(
                    Map.<String, Object>of("bootstrap.servers", brokers.bootstrap()),
                    new ByteArraySerializer(),
                    new ByteArraySerializer())) {
                for (var i = 0; i < RECORDS_OF_A_DAY; i++) {
                    var unused = producer.send(new ProducerRecord<>(TOPIC, 0, last.key(), last.value()));
                }
                producer.flush();
            }
            Thread.sleep(LEASE.toMillis()); // a checkpoint is written, and what follows says where it is
            for (var i = 0; i < 5; i++) {
                var begun = System.nanoTime();
                try (var newcomer = Elections.connect("kafka://" + brokers.bootstrap() + query)) {
                    var leader = newcomer.election("day-" + i).leader();
                    System.out.printf(
                            "after %,d records, %,d elections: a newcomer knows the leader (%s) after %,d ms%n",
                            last(brokers).offset() + 1,
                            count,
                            leader.isPresent(),
                            (System.nanoTime() - begun) / 1_000_000);
                }
            }
        }
    }

    private static void await(Candidacy one) throws InterruptedException {
        if (one.await(PATIENCE).isEmpty()) {
            throw new IllegalStateException("nobody leads after " + PATIENCE);
        }
    }

    private static ConsumerRecord<byte[], byte[]> last(KafkaBrokers brokers) {
        try (var consumer = new KafkaConsumer<>(
                Map.<String, Object>of("bootstrap.servers", brokers.bootstrap()),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            var partition = new TopicPartition(TOPIC, 0);
            consumer.assign(List.of(partition));
            consumer.seek(partition, consumer.endOffsets(List.of(partition)).getOrDefault(partition, 1L) - 1);
            while (true) {
                var records = consumer.poll(Duration.ofSeconds(1)).records(partition);
                if (!records.isEmpty()) {
                    return records.get(records.size() - 1);
                }
            }
        }
    }
}
