package dev.bellwether.benchmarks.namastack;

import io.namastack.outbox.OutboxPayloadSerializer;
import io.namastack.outbox.handler.OutboxRecordMetadata;
import io.namastack.outbox.handler.OutboxTypedHandler;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * namastack-outbox, as an application uses it: a handler sends each record to Kafka, and waits until that is confirmed,
 * so that the next of its key comes behind it. It ends when its standard input does.
 */
public final class NamastackRelay {
    private NamastackRelay() {}

    /** Takes the database's URI, the brokers and the topic. */
    public static void main(String[] args) throws IOException {
        var application = new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .properties(Map.of(
                        "spring.datasource.url",
                        args[0],
                        "spring.datasource.hikari.maximum-pool-size",
                        "20",
                        "logging.level.root",
                        "warn",
                        "brokers",
                        args[1],
                        "topic",
                        args[2],
                        // its defaults are ten keys each two seconds, with four threads
                        "namastack.outbox.polling.batch-size",
                        "4096",
                        "namastack.outbox.polling.fixed.interval",
                        "5ms",
                        "namastack.outbox.processing.delete-completed-records",
                        "true",
                        "namastack.outbox.processing.executor-core-pool-size",
                        "16",
                        "namastack.outbox.processing.executor-max-pool-size",
                        "16"))
                .run();
        System.out.println("started");
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        application.close();
    }

    /** The application. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    public static class Application {
        @Bean(destroyMethod = "close")
        Producer<String, String> producer(
                @org.springframework.beans.factory.annotation.Value("${brokers}") String brokers) {
            return new KafkaProducer<>(
                    Map.<String, Object>of("bootstrap.servers", brokers, "enable.idempotence", true),
                    new StringSerializer(),
                    new StringSerializer());
        }

        @Bean
        Sending sending(
                Producer<String, String> producer,
                @org.springframework.beans.factory.annotation.Value("${topic}") String topic) {
            return new Sending(producer, topic);
        }

        /** Texts are written as they are. */
        @Bean
        OutboxPayloadSerializer texts() {
            return new OutboxPayloadSerializer() {
                @Override
                public String serialize(Object payload) {
                    return payload.toString();
                }

                @Override
                public <T> T deserialize(String serialized, Class<T> type) {
                    return type.cast(serialized);
                }
            };
        }
    }

    /** Its name, and that of its method, stand in each row. */
    public static class Sending implements OutboxTypedHandler<String> {
        private final Producer<String, String> producer;
        private final String topic;

        Sending(Producer<String, String> producer, String topic) {
            this.producer = producer;
            this.topic = topic;
        }

        @Override
        public void handle(String payload, OutboxRecordMetadata metadata) {
            try {
                producer.send(new ProducerRecord<>(topic, metadata.getKey(), payload)).get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
    }
}
