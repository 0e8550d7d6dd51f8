package dev.bellwether.benchmarks.kafka;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A loop in the manner of goNELI, written from its description: the owner of partition 0 leads; it polls at most every
 * 100 ms, writes a heartbeat at each poll, and gives up when it has read none for a third of the session.
 */
final class NeliLike implements KafkaContestant.Make {
    static final String TOPIC = "neli";
    private static final Duration MIN_POLL_INTERVAL = Duration.ofMillis(100);

    @Override
    public String name() {
        return "goNELI-like";
    }

    @Override
    public KafkaContestant stand(String bootstrap, String election, Duration session) {
        return new Loop(bootstrap, election, session);
    }

    /** One candidate. */
    static final class Loop implements KafkaContestant, ConsumerRebalanceListener {
        private final KafkaConsumer<String, String> consumer;
        private final KafkaProducer<String, String> producer;
        private final String name;
        private final long heartbeatNanos;
        private final Thread thread = new Thread(this::run, "neli");
        private volatile boolean closed;
        private volatile boolean leads;
        private volatile long ledSinceNanos;
        private final AtomicInteger lost = new AtomicInteger();
        private boolean assigned;
        private long heardNanos;

        Loop(String bootstrap, String election, Duration session) {
            name = election + "_" + ProcessHandle.current().pid() + '_' + System.identityHashCode(this);
            heartbeatNanos = session.toNanos() / 3;
            var millis = (int) session.toMillis();
            consumer = new KafkaConsumer<>(
                    Map.of(
                            "bootstrap.servers",
                            bootstrap,
                            "group.id",
                            election,
                            "enable.auto.commit",
                            false,
                            "auto.offset.reset",
                            "latest",
                            "session.timeout.ms",
                            millis,
                            "heartbeat.interval.ms",
                            Math.min(3_000, Math.max(1, millis / 3)),
                            "partition.assignment.strategy",
                            "org.apache.kafka.clients.consumer.RangeAssignor",
                            "metric.reporters",
                            RequestCount.class.getName()),
                    new StringDeserializer(),
                    new StringDeserializer());
            producer = new KafkaProducer<>(
                    Map.of(
                            "bootstrap.servers",
                            bootstrap,
                            "linger.ms",
                            0,
                            "max.block.ms",
                            1_000,
                            "metric.reporters",
                            RequestCount.class.getName()),
                    new StringSerializer(),
                    new StringSerializer());
            consumer.subscribe(List.of(TOPIC), this);
            thread.setDaemon(true);
            thread.start();
        }

        private void run() {
            while (!closed) {
                var begun = System.nanoTime();
                try {
                    if (!consumer.poll(Duration.ofMillis(1)).isEmpty()) {
                        heardNanos = System.nanoTime();
                    }
                    if (assigned) {
                        var beat = producer.send(new ProducerRecord<>(TOPIC, 0, name, begun + "%" + name));
                        turn(!beat.isCancelled() && System.nanoTime() - heardNanos < heartbeatNanos);
                    }
                    var rest = MIN_POLL_INTERVAL.toNanos() - (System.nanoTime() - begun);
                    if (rest > 0) {
                        Thread.sleep(rest / 1_000_000, (int) (rest % 1_000_000));
                    }
                } catch (WakeupException e) {
                    break;
                } catch (InterruptedException e) {
                    break;
                }
            }
            producer.close(Duration.ofSeconds(2));
            consumer.close();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            if (partitions.stream().anyMatch(partition -> partition.partition() == 0)) {
                assigned = true;
                turn(true);
                heardNanos = System.nanoTime();
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            assigned = false;
            turn(false);
        }

        /** On the loop's thread only. */
        private void turn(boolean leadsNow) {
            if (leads && !leadsNow && !closed) {
                lost.incrementAndGet();
            }
            if (leadsNow && !leads) {
                ledSinceNanos = System.nanoTime();
            }
            leads = leadsNow;
        }

        @Override
        public boolean leads() {
            return leads;
        }

        void beginClose() {
            closed = true;
            consumer.wakeup();
        }

        long ledSinceNanos() {
            return ledSinceNanos;
        }

        @Override
        public int lost() {
            return lost.get();
        }

        @Override
        public void close() {
            beginClose();
            try {
                thread.join(10_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
