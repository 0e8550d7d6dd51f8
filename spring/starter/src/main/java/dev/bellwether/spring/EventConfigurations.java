package dev.bellwether.spring;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serializer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import tools.jackson.databind.json.JsonMapper;

/** What makes messages of the application's events. */
final class EventConfigurations {
    private static final String PREFIX = "bellwether.outbox.events.";

    private EventConfigurations() {}

    /**
     * A Jackson.
     *
     * @param ofApplication whether the application set it up
     */
    record Json(Serializer<Object> serializer, boolean ofApplication) {}

    /** The listener, and serializers as the properties say. */
    @Configuration(proxyBeanMethods = false)
    static class Events {
        @Bean
        @ConditionalOnMissingBean // that of an ancestor, which hears of all events
        static OutboxEventListener bellwetherOutboxEventListener(
                ObjectProvider<TransactionalOutbox> outbox,
                ObjectProvider<EventSerializers> serializers,
                ObjectProvider<OutboxAutoConfiguration.MessageCustomizer> customizers,
                OutboxProperties properties,
                Environment environment) {
            return new OutboxEventListener(
                    outbox::getObject,
                    serializers::getObject,
                    () -> customizers.orderedStream().toList(),
                    environment::resolveRequiredPlaceholders,
                    source(properties.getEvents().getCloudEvents(), environment));
        }

        @Bean
        @ConditionalOnMissingBean
        EventSerializers bellwetherEventSerializers(
                OutboxProperties properties,
                ObjectProvider<OutboxAutoConfiguration.KafkaSettings> kafka,
                ObjectProvider<Json> jsons) {
            var events = properties.getEvents();
            var settings = new HashMap<String, Object>();
            kafka.ifAvailable(one -> settings.putAll(one.properties()));
            settings.putAll(events.getProperties());
            var keys = make("key-serializer", events.getKeySerializer(), settings, true);
            var values = make("value-serializer", events.getValueSerializer(), settings, false);
            var json = jsons.orderedStream().max(Comparator.comparing(Json::ofApplication));
            var made = EventSerializers.of(
                    keys.orElseGet(EventSerializers::textOrBytes),
                    values.orElseGet(() -> json.map(Json::serializer).orElseGet(() -> Events::refuse)));
            var type = events.getContentType();
            if (type == null && values.isEmpty() && events.getCloudEvents().isEnabled()) {
                type = "application/json";
            }
            return type == null ? made : made.withContentType(type);
        }

        private static Optional<Serializer<Object>> make(
                String name, @Nullable Class<?> type, Map<String, Object> settings, boolean isKey) {
            if (type == null) {
                return Optional.empty();
            }
            if (!Serializer.class.isAssignableFrom(type)) {
                throw new IllegalStateException(
                        PREFIX + name + " is " + type.getName() + ": it must implement " + Serializer.class.getName());
            }
            @SuppressWarnings("unchecked")
            var serializer = (Serializer<Object>) BeanUtils.instantiateClass(type);
            serializer.configure(settings, isKey);
            return Optional.of(serializer);
        }

        private static byte[] refuse(String topic, Object value) {
            throw new IllegalStateException("there is no serializer for the value of "
                    + value.getClass().getName()
                    + " for topic " + topic + ": add Jackson (spring-boot-starter-json), or set " + PREFIX
                    + "value-serializer to a serializer of Kafka");
        }

        private static Optional<URI> source(OutboxProperties.CloudEvents properties, Environment environment) {
            if (!properties.isEnabled()) {
                return Optional.empty();
            }
            var source = properties.getSource();
            var application = environment.getProperty("spring.application.name", "");
            try {
                if (source != null) {
                    return Optional.of(new URI(source));
                }
                if (!application.isEmpty()) {
                    return Optional.of(new URI(null, null, '/' + application, null));
                }
            } catch (URISyntaxException e) {
                throw new IllegalStateException(
                        PREFIX + "cloud-events.source is \"" + source
                                + "\": it must be a URI, such as https://example.com/billing",
                        e);
            }
            throw new IllegalStateException("CloudEvents need a source: set " + PREFIX
                    + "cloud-events.source, such as https://example.com/billing, or spring.application.name");
        }
    }

    /** That of Spring Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "tools.jackson.databind.json.JsonMapper")
    static class Jackson3 {
        @Bean
        Json bellwetherJackson3(ObjectProvider<JsonMapper> mappers) {
            var found = mappers.getIfUnique();
            var mapper =
                    found == null ? JsonMapper.builder().findAndAddModules().build() : found;
            return new Json((topic, value) -> mapper.writeValueAsBytes(value), found != null);
        }
    }

    /** That of Spring Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "com.fasterxml.jackson.databind.ObjectMapper")
    static class Jackson2 {
        @Bean
        Json bellwetherJackson2(ObjectProvider<ObjectMapper> mappers) {
            var found = mappers.getIfUnique();
            var mapper = found == null
                    ? com.fasterxml.jackson.databind.json.JsonMapper.builder()
                            .findAndAddModules()
                            .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                            .build()
                    : found;
            return new Json((topic, value) -> write(mapper, topic, value), found != null);
        }

        private static byte[] write(ObjectMapper mapper, String topic, Object value) {
            try {
                return mapper.writeValueAsBytes(value);
            } catch (JsonProcessingException e) {
                throw new SerializationException(
                        "Jackson cannot write " + value.getClass().getName() + " for topic " + topic + ": "
                                + e.getOriginalMessage(),
                        e);
            }
        }
    }
}
