package dev.bellwether.kafka;

import dev.bellwether.ElectionException;
import dev.bellwether.RosterConfig;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.Parameter;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The settings of a connection: some of ours, all others Kafka's. Immutable.
 *
 * @param topic the leader topic
 * @param createTopic whether to create it if it does not exist
 * @param groupPrefix what precedes the name of an election in the id of its group
 * @param rosterGroup the id of a roster's group, with a star for the name of the group; empty for ids made from the
 *     names of both
 * @param assignors names of further assignors, after ours: for rolling out and away
 * @param by what an election is held by
 * @param longestLease the longest lease that an election by the log may have
 * @param client what every client gets
 */
record Settings(
        String topic,
        boolean createTopic,
        String groupPrefix,
        String rosterGroup,
        List<String> assignors,
        By by,
        Duration longestLease,
        Map<String, Object> client) {
    /** What decides who leads. */
    enum By {
        /** A group of consumers for each election. */
        GROUP,
        /** The log of the topic alone. */
        LOG
    }

    static final String BY = "by";
    static final String LONGEST_LEASE = "longest.lease";
    static final String TOPIC = "topic";
    static final String CREATE_TOPIC = "topic.create";
    static final String GROUP_PREFIX = "group.prefix";
    static final String ROSTER_GROUP = "roster.group";
    static final String ASSIGNORS = "assignors";
    /** What we take out before the clients see the rest. */
    static final List<String> OWN =
            List.of(TOPIC, CREATE_TOPIC, GROUP_PREFIX, ROSTER_GROUP, ASSIGNORS, BY, LONGEST_LEASE);

    private static final Duration LOOK = Duration.ofMillis(300);
    private static final String BOOTSTRAP = "bootstrap.servers";
    private static final String DEFAULT_TOPIC = "bellwether";
    private static final Duration DEFAULT_LONGEST_LEASE = Duration.ofSeconds(30);
    private static final Duration LEAST_LONGEST_LEASE = Duration.ofMillis(30);
    private static final Duration MOST_LONGEST_LEASE = Duration.ofHours(1);

    /** What leadership depends on is not for the user to set, but follows from the settings of each candidacy. */
    private static final Map<String, String> OURS = Map.ofEntries(
            Map.entry("group.id", "set " + GROUP_PREFIX + " instead"),
            Map.entry("group.instance.id", "candidates are dynamic members, identified by their ids"),
            Map.entry(
                    "group.protocol",
                    "a leader is kept by an assignor on the client's side, for which there is the"
                            + " classic protocol only"),
            Map.entry("group.remote.assignor", "a leader is kept by an assignor on the client's side"),
            Map.entry("partition.assignment.strategy", "set " + ASSIGNORS + " to add to ours"),
            Map.entry("session.timeout.ms", "it is the lease of the CandidacyConfig"),
            Map.entry("heartbeat.interval.ms", "it follows the lease of the CandidacyConfig"),
            Map.entry("max.poll.interval.ms", "it follows the lease of the CandidacyConfig"),
            Map.entry("max.poll.records", "only our journal reads the topic"),
            Map.entry("enable.auto.commit", "an offset commit is a proof of leadership"),
            Map.entry("auto.offset.reset", "the journal is read from its beginning"),
            Map.entry("isolation.level", "the journal has no transactions"),
            Map.entry("key.serializer", "records are ours"),
            Map.entry("value.serializer", "records are ours"),
            Map.entry("key.deserializer", "records are ours"),
            Map.entry("value.deserializer", "records are ours"),
            Map.entry("acks", "a claim counts when all replicas have it"),
            Map.entry("enable.idempotence", "claims must stay in order"),
            Map.entry("max.in.flight.requests.per.connection", "claims must stay in order"),
            Map.entry("transactional.id", "fencedProducer sets it"),
            Map.entry("delivery.timeout.ms", "a claim that comes late would do harm"),
            Map.entry("linger.ms", "a claim does not wait"),
            Map.entry("client.id", "clients are identified by the candidacy they serve"));

    static Settings of(Map<String, ?> properties) {
        var client = new TreeMap<String, Object>();
        properties.forEach((name, value) -> {
            if (OURS.containsKey(name)) {
                throw new ElectionException(
                        "cannot override configuration \"" + name + "\": " + OURS.get(name) + "; remove it");
            }
            client.put(
                    name, name.equals(BOOTSTRAP) && value instanceof Collection<?> brokers ? joined(brokers) : value);
        });
        if (!client.containsKey(BOOTSTRAP) || text(client, BOOTSTRAP, "").isBlank()) {
            throw new ElectionException(
                    "no brokers are named: write kafka://host:9092, or set " + BOOTSTRAP + " in the properties");
        }
        var topic = text(client, TOPIC, DEFAULT_TOPIC);
        if (!topic.matches("[a-zA-Z0-9._-]{1,249}") || Set.of(".", "..").contains(topic)) {
            throw new ElectionException("topic \"" + topic
                    + "\" is not a name for a Kafka topic: use up to 249 letters, digits, dots, dashes and"
                    + " underscores");
        }
        var create =
                Parameter.of(CREATE_TOPIC, text(client, CREATE_TOPIC, "true")).flag();
        var prefix = text(client, GROUP_PREFIX, topic + '.');
        var assignors = List.of(text(client, ASSIGNORS, "").split(",")).stream()
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .map(Settings::assignor)
                .toList();
        var rosterGroup = text(client, ROSTER_GROUP, "");
        var by = by(client);
        var longest = longestLease(client, by);
        OWN.forEach(client::remove);
        checkClients(client);
        return new Settings(topic, create, prefix, rosterGroup, assignors, by, longest, Map.copyOf(client));
    }

    /** Kafka's clients take a list as well, and Spring Boot gives them one. */
    private static String joined(Collection<?> brokers) {
        return brokers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /** A client that finds a property wrong on a thread of its own has nobody to tell. */
    private static void checkClients(Map<String, Object> client) {
        var whole = new HashMap<>(client);
        for (var ours : List.of("key.serializer", "value.serializer")) {
            whole.put(ours, ByteArraySerializer.class);
        }
        for (var ours : List.of("key.deserializer", "value.deserializer")) {
            whole.put(ours, ByteArrayDeserializer.class);
        }
        try {
            ConsumerConfig.configDef().parse(whole);
            ProducerConfig.configDef().parse(whole);
            AdminClientConfig.configDef().parse(whole);
        } catch (ConfigException e) {
            throw new ElectionException(
                    "the settings for the Kafka brokers at " + client.get(BOOTSTRAP) + " are wrong: " + e.getMessage(),
                    e);
        }
    }

    private static By by(Map<String, Object> client) {
        var by = text(client, BY, "group");
        if (!Set.of("group", "log").contains(by)) {
            throw new ElectionException(BY + " is \"" + by + "\": write group, for elections by groups of consumers, or"
                    + " log, for elections by the log of the topic alone");
        }
        if (by.equals("log")) {
            for (var name : List.of(ROSTER_GROUP, ASSIGNORS)) {
                if (client.containsKey(name)) {
                    throw new ElectionException(
                            name + " is for groups of consumers, and there are none with " + BY + "=log: remove it");
                }
            }
        }
        return by.equals("log") ? By.LOG : By.GROUP;
    }

    private static Duration longestLease(Map<String, Object> client, By by) {
        if (!client.containsKey(LONGEST_LEASE)) {
            return DEFAULT_LONGEST_LEASE;
        }
        if (by != By.LOG) {
            throw new ElectionException(LONGEST_LEASE + " is for " + BY + "=log: remove it");
        }
        var longest =
                Parameter.of(LONGEST_LEASE, text(client, LONGEST_LEASE, "")).duration();
        if (longest.compareTo(LEAST_LONGEST_LEASE) < 0 || longest.compareTo(MOST_LONGEST_LEASE) > 0) {
            throw new ElectionException(LONGEST_LEASE + " is " + Durations.show(longest) + ": it must be between "
                    + Durations.show(LEAST_LONGEST_LEASE) + " and " + Durations.show(MOST_LONGEST_LEASE));
        }
        return longest;
    }

    /** Returns the class of one of Kafka's own by its short name, and any other name as it is. */
    private static String assignor(String name) {
        var own = Map.of(
                "range", "RangeAssignor",
                "roundrobin", "RoundRobinAssignor",
                "sticky", "StickyAssignor",
                "cooperative-sticky", "CooperativeStickyAssignor");
        return own.containsKey(name) ? "org.apache.kafka.clients.consumer." + own.get(name) : name;
    }

    private static String text(Map<String, Object> properties, String name, String otherwise) {
        return properties.getOrDefault(name, otherwise).toString();
    }

    /** For the holder of a mandate: what a later holder's initTransactions will fence. */
    static Map<String, Object> fenced(Map<String, ?> properties, String election) {
        var ours = new TreeMap<String, Object>(properties);
        for (var name : List.of("transactional.id", "enable.idempotence", "acks")) {
            if (ours.containsKey(name)) {
                throw new ElectionException(
                        "cannot override configuration \"" + name + "\" of a fenced producer; remove it");
            }
        }
        ours.keySet().removeAll(OWN);
        ours.put("transactional.id", names(properties).group(election));
        return ours;
    }

    /** Of the properties of a fenced producer, what tells which topic and groups it goes with. */
    static Settings names(Map<String, ?> properties) {
        var names = new TreeMap<String, Object>(properties);
        names.keySet().retainAll(List.of(BOOTSTRAP, TOPIC, GROUP_PREFIX));
        return of(names);
    }

    /**
     * Returns the id of the group of an election, which is also the transactional id of its fenced producers: another
     * one for each topic and election. The parts are joined by a dot, and if either has dots of its own, what tells
     * them apart is added. A prefix that the user has chosen is put before the name as it is: then the ids must be
     * those of other members, too.
     */
    String group(String election) {
        var plain = groupPrefix + election;
        var ambiguous = topic.indexOf('.') >= 0 || election.indexOf('.') >= 0 || election.indexOf('~') >= 0;
        return ambiguous && groupPrefix.equals(topic + '.') ? plain + '~' + topic.length() : plain;
    }

    /**
     * Returns the id of a group of a roster. A shape that the user has chosen is that of other members, too, and says
     * all.
     */
    String rosterGroup(String roster, String group) {
        return rosterGroup.isEmpty() ? groupPrefix + "roster." + roster + '.' + group : rosterGroup.replace("*", group);
    }

    String bootstrap() {
        return text(client, BOOTSTRAP, "");
    }

    /** Returns what to call them in messages. */
    String brokers() {
        return "the Kafka brokers at " + bootstrap();
    }

    /** Returns, for people, what the network says of brokers that have not answered. */
    String complaints() {
        var brokers = bootstrap().replaceAll("[A-Za-z_]+://", ""); // which Kafka's clients let stand before each
        return Endpoint.complaints(Endpoint.of(ConnectUri.parse("kafka://" + brokers)), LOOK);
    }

    /** For the reader of the journal. */
    Map<String, Object> reader(String id) {
        var properties = patient(id, Duration.ofSeconds(2));
        properties.put("key.deserializer", ByteArrayDeserializer.class);
        properties.put("value.deserializer", ByteArrayDeserializer.class);
        properties.put("enable.auto.commit", false);
        properties.put("auto.offset.reset", "none");
        properties.put("allow.auto.create.topics", false);
        properties.putIfAbsent("fetch.min.bytes", 1);
        if (by == By.LOG) {
            properties.putIfAbsent("max.partition.fetch.bytes", 8 << 20); // a newcomer reads a checkpoint
            properties.putIfAbsent("max.poll.records", 5_000);
        }
        return properties;
    }

    /** For a member of an election's group. */
    Map<String, Object> member(
            String id, String group, Duration lease, Duration budget, SeatAssignor.Participant participant) {
        var properties = member(id, group, lease, budget);
        properties.put("partition.assignment.strategy", before(assignors, SeatAssignor.class));
        properties.put(SeatAssignor.PARTICIPANT, participant);
        return properties;
    }

    /** For a member of a roster's group. */
    Map<String, Object> rosterMember(
            String id, String group, RosterConfig config, RosterAssignor.Participant participant) {
        var properties = member(id, group, config.lease(), config.standDownBudget());
        properties.put("auto.offset.reset", "latest"); // what was missed is of no interest
        properties.put("partition.assignment.strategy", before(assignors, RosterAssignor.class));
        properties.put(RosterAssignor.WEIGHT, config.weight());
        properties.put(RosterAssignor.PARTICIPANT, participant);
        if (!client.containsKey("metadata.max.age.ms")) {
            properties.put("metadata.max.age.ms", 5_000); // a topic that is back, or has grown, is noticed by this
        }
        return properties;
    }

    private Map<String, Object> member(String id, String group, Duration lease, Duration budget) {
        var session = lease.toMillis();
        var request = Duration.ofMillis(Math.max(250, Math.min(2_000, lease.toMillis() / 3)));
        var properties = patient(id, request, frugal(lease));
        properties.put("key.deserializer", ByteArrayDeserializer.class);
        properties.put("value.deserializer", ByteArrayDeserializer.class);
        properties.put("group.id", group);
        properties.put("group.protocol", "classic");
        properties.put("enable.auto.commit", false);
        properties.put("auto.offset.reset", "earliest"); // never asked: the partition is paused, and its position set
        properties.put("allow.auto.create.topics", false);
        properties.put("session.timeout.ms", (int) session);
        properties.put("heartbeat.interval.ms", (int) heartbeatMillis(lease));
        properties.put("max.poll.interval.ms", (int) rebalanceMillis(lease, budget));
        return properties;
    }

    /**
     * Members are many, and mostly idle. Kafka's heartbeat thread looks around once in each back-off, whether or not
     * anything has failed: often enough to be on time, and no more often than that.
     */
    private static Map<String, Object> frugal(Duration lease) {
        var backoff = Math.max(5, Math.min(500, heartbeatMillis(lease) / 4));
        var properties = new HashMap<String, Object>();
        properties.put("retry.backoff.ms", backoff);
        properties.put("retry.backoff.max.ms", Math.max(200, backoff));
        properties.put("metadata.max.age.ms", 60_000);
        properties.put("metric.reporters", "");
        properties.put("enable.metrics.push", false);
        return properties;
    }

    /**
     * Six a session: a member that is told of a rebalance by the answer should not keep the others waiting for long.
     */
    static long heartbeatMillis(Duration lease) {
        return Math.max(1, Math.min(3_000, lease.toMillis() / 6));
    }

    /**
     * How long the coordinator waits for a member to join again: longer than the session, so that an accepted commit is
     * worth a whole one, and longer than a stand-down may take; or as long as Kafka lets it.
     */
    static long rebalanceMillis(Duration lease, Duration budget) {
        return Math.min(Integer.MAX_VALUE, Math.max(10_000, 3 * lease.toMillis() + 2 * budget.toMillis()));
    }

    private static String before(List<String> assignors, Class<?> ours) {
        return Stream.concat(Stream.of(ours.getName()), assignors.stream()).collect(Collectors.joining(","));
    }

    /**
     * For anybody who writes to the journal.
     *
     * @throws ElectionException if the client refuses a property
     */
    KafkaProducer<byte[], byte[]> writer(String id) {
        var properties = patient(id, Duration.ofSeconds(1));
        properties.put("acks", "all");
        // a log may have an attempt twice; so a record that is refused holds up nobody else's
        properties.put("enable.idempotence", by != By.LOG);
        properties.put("linger.ms", 0);
        properties.put("delivery.timeout.ms", deliveryMillis(properties));
        properties.putIfAbsent("max.block.ms", 1_000);
        if (by == By.LOG) {
            properties.putIfAbsent("batch.size", 256 << 10); // thousands may begin to stand at once
        }
        try {
            return new KafkaProducer<>(properties, new CalmSerializer(), new CalmSerializer());
        } catch (KafkaException e) {
            throw refused(e);
        }
    }

    /**
     * Returns what to tell if a client cannot be made: it says what is wrong, and not always with which property. It
     * looks up the names of all brokers, too, which may be there the next time.
     */
    ElectionException refused(KafkaException error) {
        var why = error.getCause() instanceof KafkaException cause ? cause : error;
        var message = String.valueOf(why.getMessage());
        if (message.contains("No resolvable bootstrap urls")) {
            return new UnavailableException("cannot reach " + brokers() + ": " + complaints(), error);
        }
        var property = client.keySet().stream()
                .filter(name -> !message.contains(name) && namesAClass(name, message))
                .map(name -> name + ": ")
                .collect(Collectors.joining());
        return new ElectionException("the settings for " + brokers() + " are wrong: " + property + message, error);
    }

    private boolean namesAClass(String name, String message) {
        return Stream.of(text(client, name, "").split(","))
                .map(String::strip)
                .anyMatch(value -> value.indexOf('.') > 0 && message.contains(value + ' '));
    }

    /** Returns how long a {@link #writer} may take to tell of a record. */
    Duration delivery() {
        return Duration.ofMillis(deliveryMillis(patient("", Duration.ofSeconds(1))));
    }

    private static int deliveryMillis(Map<String, Object> properties) {
        return (int) Math.min(Integer.MAX_VALUE, requestMillis(properties) + 2_000L);
    }

    Map<String, Object> admin(String id) {
        return patient(id, Duration.ofSeconds(4));
    }

    /** For anybody who asks a question for each read and each write: what has no answer soon is asked again. */
    Map<String, Object> questions(String id) {
        return patient(id, Duration.ofSeconds(1));
    }

    private static int requestMillis(Map<String, Object> properties) {
        return Integer.parseInt(
                properties.getOrDefault("request.timeout.ms", 0).toString().strip());
    }

    /** Defaults for clients that must notice soon when a broker is gone, and when one is back. */
    private Map<String, Object> patient(String id, Duration request) {
        return patient(id, request, Map.of());
    }

    /** The same; some go before our common defaults, and what the user gave before all. */
    private Map<String, Object> patient(String id, Duration request, Map<String, Object> rather) {
        var properties = new HashMap<>(rather);
        properties.putAll(client);
        properties.put("client.id", id);
        properties.putIfAbsent("request.timeout.ms", (int) request.toMillis());
        properties.putIfAbsent("default.api.timeout.ms", Math.max(8_000, requestMillis(properties)));
        properties.putIfAbsent("reconnect.backoff.ms", 20);
        properties.putIfAbsent("reconnect.backoff.max.ms", 200);
        properties.putIfAbsent("retry.backoff.ms", 20);
        properties.putIfAbsent("retry.backoff.max.ms", 200);
        properties.putIfAbsent("metadata.max.age.ms", 10_000);
        properties.putIfAbsent("socket.connection.setup.timeout.ms", 1_000);
        properties.putIfAbsent("socket.connection.setup.timeout.max.ms", 2_000);
        if (by == By.LOG) {
            properties.putIfAbsent(
                    "connections.max.idle.ms", 30_000); // each client begins with one that it needs no more
        }
        return properties;
    }
}
