package dev.bellwether.spring;

import dev.bellwether.outbox.OutboxForm;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/** What can be set under {@code bellwether.outbox}. */
@ConfigurationProperties("bellwether.outbox")
public class OutboxProperties {

    /**
     * Names the outbox, the same in all processes that share its table: elections and transactional ids are named after
     * it. Nothing is made of an outbox unless it is set.
     */
    private @Nullable String name;

    /** The table that messages are written into, also as schema.table. */
    private String table = "outbox";

    /** Whether to make the tables when the application starts, if they are missing. */
    private boolean createTables;

    /**
     * The form of a table that is made: plain, or rotated on PostgreSQL. One that is there keeps its own, and is
     * served.
     */
    private OutboxForm form = OutboxForm.PLAIN;

    private final Relay relay = new Relay();

    private final Events events = new Events();

    /** How events of the application become messages. */
    public static class Events {
        /** A serializer of Kafka for keys. Text in UTF-8 by default. */
        private @Nullable Class<?> keySerializer;

        /** A serializer of Kafka for values. JSON by Jackson by default. */
        private @Nullable Class<?> valueSerializer;

        /** What serializers are configured with, over the properties of the application's ProducerFactory. */
        private Map<String, String> properties = new LinkedHashMap<>();

        /** The header content-type. With CloudEvents and without a serializer of yours application/json, else none. */
        private @Nullable String contentType;

        private final CloudEvents cloudEvents = new CloudEvents();

        public @Nullable Class<?> getKeySerializer() {
            return keySerializer;
        }

        public void setKeySerializer(@Nullable Class<?> keySerializer) {
            this.keySerializer = keySerializer;
        }

        public @Nullable Class<?> getValueSerializer() {
            return valueSerializer;
        }

        public void setValueSerializer(@Nullable Class<?> valueSerializer) {
            this.valueSerializer = valueSerializer;
        }

        public Map<String, String> getProperties() {
            return properties;
        }

        public void setProperties(Map<String, String> properties) {
            this.properties = properties;
        }

        public @Nullable String getContentType() {
            return contentType;
        }

        public void setContentType(@Nullable String contentType) {
            this.contentType = contentType;
        }

        public CloudEvents getCloudEvents() {
            return cloudEvents;
        }
    }

    /** Headers of CloudEvents. */
    public static class CloudEvents {
        /** Whether messages of events have them. */
        private boolean enabled;

        /** A URI that names this application for all time. The application's name behind a slash by default. */
        private @Nullable String source;

        public boolean isEnabled() {
            return enabled;
        }

        public void setEnabled(boolean enabled) {
            this.enabled = enabled;
        }

        public @Nullable String getSource() {
            return source;
        }

        public void setSource(@Nullable String source) {
            this.source = source;
        }
    }

    /** Settings of the relay; what is not set has the library's default. */
    public static class Relay {
        /** Whether this process publishes, while it leads; if not, another one must. */
        private boolean enabled = true;

        /** Divides the keys among so many leaders. 1 by default. */
        private @Nullable Integer shards;

        /** How long after a crash another relay takes over. 10s by default. */
        private @Nullable Duration lease;

        /** Whether readers of committed records see each once. True by default. */
        private @Nullable Boolean once;

        /** Properties of Kafka's producer, over those of the application's ProducerFactory. */
        private Map<String, String> producer = new LinkedHashMap<>();

        public boolean isEnabled() {
            return enabled;
        }

        public void setEnabled(boolean enabled) {
            this.enabled = enabled;
        }

        public @Nullable Integer getShards() {
            return shards;
        }

        public void setShards(@Nullable Integer shards) {
            this.shards = shards;
        }

        public @Nullable Duration getLease() {
            return lease;
        }

        public void setLease(@Nullable Duration lease) {
            this.lease = lease;
        }

        public @Nullable Boolean getOnce() {
            return once;
        }

        public void setOnce(@Nullable Boolean once) {
            this.once = once;
        }

        public Map<String, String> getProducer() {
            return producer;
        }

        public void setProducer(Map<String, String> producer) {
            this.producer = producer;
        }
    }

    public @Nullable String getName() {
        return name;
    }

    public void setName(@Nullable String name) {
        this.name = name;
    }

    public String getTable() {
        return table;
    }

    public void setTable(String table) {
        this.table = table;
    }

    public boolean isCreateTables() {
        return createTables;
    }

    public void setCreateTables(boolean createTables) {
        this.createTables = createTables;
    }

    public OutboxForm getForm() {
        return form;
    }

    public void setForm(OutboxForm form) {
        this.form = form;
    }

    public Relay getRelay() {
        return relay;
    }

    public Events getEvents() {
        return events;
    }
}
