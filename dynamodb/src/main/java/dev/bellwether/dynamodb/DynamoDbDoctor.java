package dev.bellwether.dynamodb;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.spi.Endpoint;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.MultiRegionConsistency;
import software.amazon.awssdk.services.dynamodb.model.ReplicaDescription;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.TableDescription;
import software.amazon.awssdk.services.dynamodb.model.TableStatus;

/** Looks at the table: whether it can be used, and what an operator should know of it. Immutable. Blocks. */
final class DynamoDbDoctor {
    private static final Logger log = LoggerFactory.getLogger(DynamoDbDoctor.class);
    /** The first request loads the SDK and looks for credentials. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final String EXPIRES = "expires";
    private static final Duration LOOK = Duration.ofMillis(300);
    private static final long PAUSE_NANOS = 200_000_000;
    private static final int LOOKS = 300;
    /** So often, at most, a candidate asks for the priorities of the others. */
    private static final Duration LIST = Duration.ofSeconds(30);

    private static final long HOUR_MILLIS = 3_600_000;

    private final DynamoDbSettings settings;
    private final TableClient client;
    /** Empty if we may not see it. */
    private final Optional<TableDescription> table;

    private DynamoDbDoctor(DynamoDbSettings settings, TableClient client, Optional<TableDescription> table) {
        this.settings = settings;
        this.client = client;
        this.table = table;
    }

    /**
     * Looks whether the table is there, and how it is made; makes it, if that is wanted.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if DynamoDB does not answer
     */
    static DynamoDbDoctor look(DynamoDbSettings settings, TableClient client) {
        try {
            var table = table(settings, client);
            requireKeys(settings, table);
            return new DynamoDbDoctor(settings, client, Optional.of(table));
        } catch (UnavailableException e) {
            var complaints = Endpoint.complaints(Endpoint.of(settings.uri()), LOOK);
            throw new UnavailableException(e.getMessage() + (complaints.isEmpty() ? "" : ": " + complaints), e);
        } catch (AccessRefusedException e) { // to look at the table is not needed: to read it is
            requireReadable(settings, client, e);
            return new DynamoDbDoctor(settings, client, Optional.empty());
        }
    }

    /** A table that is not there, and was to be made, lacks the right that was refused: to look, or to make it. */
    private static void requireReadable(DynamoDbSettings settings, TableClient client, AccessRefusedException refused) {
        var key = Map.of("pk", AttributeValue.fromS("-"), "sk", AttributeValue.fromS("-"));
        try {
            var unused = asked(
                    client,
                    "GetItem",
                    sdk -> sdk.getItem(get -> get.tableName(settings.table()).key(key)));
        } catch (ElectionException e) {
            throw settings.creates() && e.getCause() instanceof ResourceNotFoundException ? refused : e;
        }
    }

    private static <T> T asked(
            TableClient client, String action, Function<DynamoDbAsyncClient, CompletableFuture<T>> request) {
        return TableClient.answer(client.send(Urgency.LOOK, action, PATIENCE, request));
    }

    /** Returns what the table is like; if it is to be made, when it is there. */
    private static TableDescription table(DynamoDbSettings settings, TableClient client) {
        for (var look = 1; ; look++) {
            try {
                var table = asked(
                                client,
                                "DescribeTable",
                                sdk -> sdk.describeTable(describe -> describe.tableName(settings.table())))
                        .table();
                if (table.tableStatus() != TableStatus.CREATING || !settings.creates() || look == LOOKS) {
                    return table;
                }
            } catch (ElectionException e) {
                if (!(e.getCause() instanceof ResourceNotFoundException) || !settings.creates() || look == LOOKS) {
                    throw e;
                }
                create(settings, client);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
            if (Thread.currentThread().isInterrupted()) { // it would not pause any more
                throw new UnavailableException(settings + ": interrupted while the table was being made");
            }
        }
    }

    private static void create(DynamoDbSettings settings, TableClient client) {
        try {
            var unused = asked(
                    client,
                    "CreateTable",
                    sdk -> sdk.createTable(create -> create.tableName(settings.table())
                            .attributeDefinitions(attribute("pk"), attribute("sk"))
                            .keySchema(key("pk", KeyType.HASH), key("sk", KeyType.RANGE))
                            .billingMode(BillingMode.PAY_PER_REQUEST)
                            .deletionProtectionEnabled(true)));
            log.info("{}: the table is being made", settings);
        } catch (UnavailableException e) {
            log.debug("{}: another process makes the table, or it is made slowly", settings, e);
        }
    }

    private static AttributeDefinition attribute(String name) {
        return AttributeDefinition.builder()
                .attributeName(name)
                .attributeType(ScalarAttributeType.S)
                .build();
    }

    private static KeySchemaElement key(String name, KeyType type) {
        return KeySchemaElement.builder().attributeName(name).keyType(type).build();
    }

    private static void requireKeys(DynamoDbSettings settings, TableDescription table) {
        if (!table.keySchema().equals(List.of(key("pk", KeyType.HASH), key("sk", KeyType.RANGE)))
                || !table.attributeDefinitions().containsAll(List.of(attribute("pk"), attribute("sk")))) {
            var keys = table.keySchema().stream()
                    .map(key -> key.attributeName() + " (" + key.keyTypeAsString() + ")")
                    .collect(Collectors.joining(", "));
            throw new ElectionException(settings + ": the table has the keys " + keys
                    + "; it must have the strings pk (HASH) and sk (RANGE). Name another table, or make one: "
                    + settings.command());
        }
    }

    /**
     * Refuses a table that is written in several regions: each decides for itself who leads.
     *
     * @throws ElectionException if it is one, and that was not accepted
     */
    void requireOneDecider() {
        table.filter(one -> !settings.acceptsReplicas() && isDecidedByEachRegion(one))
                .ifPresent(one -> {
                    throw new ElectionException(settings + ": the table has replicas in " + regions(one)
                            + ", and each region decides for itself who leads: two may. Name a table without replicas,"
                            + " or one with strong consistency among its regions; or, if all candidates name this one"
                            + " region, add replicas=accepted");
                });
    }

    private static boolean isDecidedByEachRegion(TableDescription table) {
        return !table.replicas().isEmpty() && table.multiRegionConsistency() != MultiRegionConsistency.STRONG;
    }

    private static String regions(TableDescription table) {
        return table.replicas().stream()
                .map(ReplicaDescription::regionName)
                .sorted()
                .collect(Collectors.joining(", "));
    }

    // ---------------------------------------------------------------- what an operator should know

    List<Finding> findings(CandidacyConfig candidacy) {
        var findings = new ArrayList<Finding>();
        table.ifPresentOrElse(
                one -> findings.addAll(List.of(billing(one), replicas(one), protection(one))),
                () -> findings.add(missing("DescribeTable")));
        findings.add(timeToLive());
        findings.add(cost(candidacy));
        return findings;
    }

    /** As it follows from the settings: a record is smaller than a unit, unless there is much metadata. */
    private Finding cost(CandidacyConfig candidacy) {
        var traits = settings.traits();
        var renewals = perHour(candidacy.renewInterval());
        var polls = settings.poll().isZero() ? perHour(candidacy.lease()) : perHour(settings.poll()) / 2;
        var lists = perHour(Collections.min(List.of(LIST, traits.presence().dividedBy(4)))) / 2;
        return Finding.ok(
                "cost",
                "an election takes " + renewals + " write units an hour by the renewals of its leader, up to "
                        + perHour(traits.presence().dividedBy(3)) + " by each candidate that is listed, and "
                        + (polls + lists) + " read units by each candidate"
                        + (traits.sharing() == 0
                                ? ""
                                : "; a process that leads " + traits.sharing()
                                        + " or more by leases of one length renews all of them by " + renewals));
    }

    private static long perHour(Duration interval) {
        return HOUR_MILLIS / Math.max(1, interval.toMillis());
    }

    private static Finding billing(TableDescription table) {
        var isOnDemand = table.billingModeSummary() != null
                && table.billingModeSummary().billingMode() == BillingMode.PAY_PER_REQUEST;
        return isOnDemand
                ? Finding.ok("billing", "on demand: AWS bills each request")
                : Finding.warning(
                        "billing",
                        "provisioned: " + table.provisionedThroughput().writeCapacityUnits()
                                + " write units a second; beyond that leases are not renewed",
                        "have it billed on demand, or provide more than elections use");
    }

    private Finding replicas(TableDescription table) {
        if (!isDecidedByEachRegion(table)) {
            return Finding.ok("regions", "one region decides who leads, or all together");
        }
        var says = "replicas in " + regions(table) + ": each region decides for itself who leads";
        return settings.acceptsReplicas()
                ? Finding.warning(
                        "regions",
                        says,
                        "make sure that all candidates name this one region, as replicas=accepted" + " says")
                : Finding.error("regions", says, "name a table without replicas; or see replicas=accepted");
    }

    private Finding protection(TableDescription table) {
        return Boolean.TRUE.equals(table.deletionProtectionEnabled())
                ? Finding.ok("deletion", "the table is protected against deletion")
                : Finding.warning(
                        "deletion",
                        "the table may be deleted: if it is deleted and made again, the next candidate may lead"
                                + " beside the present leader",
                        "aws dynamodb update-table --region " + settings.region() + " --table-name " + settings.table()
                                + " --deletion-protection-enabled");
    }

    private Finding timeToLive() {
        try {
            var attribute = asked(
                            client,
                            "DescribeTimeToLive",
                            sdk -> sdk.describeTimeToLive(one -> one.tableName(settings.table())))
                    .timeToLiveDescription()
                    .attributeName();
            if (attribute == null) {
                return Finding.ok("ttl", "none: a process that lists standbys removes the items of those that crashed");
            }
            return attribute.equals(EXPIRES)
                    ? Finding.ok("ttl", "drops only what is displayed, when its time is over")
                    : Finding.warning(
                            "ttl",
                            "drops items that bear \"" + attribute + "\": if somebody adds that to a seat, two may"
                                    + " lead",
                            "set it on \"" + EXPIRES + "\", or switch it off");
        } catch (AccessRefusedException e) {
            return missing("DescribeTimeToLive");
        } catch (UnavailableException e) {
            return Finding.warning(
                    "ttl", "it is not known whether items are dropped: " + e.getMessage(), "run the doctor again");
        }
    }

    private static Finding missing(String action) {
        return Finding.warning(
                "rights",
                "a part of this is told to those with the right dynamodb:" + action,
                "ask for it with that right; elections do not need it");
    }
}
