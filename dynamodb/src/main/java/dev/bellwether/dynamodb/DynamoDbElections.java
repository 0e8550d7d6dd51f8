package dev.bellwether.dynamodb;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.LeaseStore;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;

/**
 * Elections on DynamoDB over a client that the application has already: with its own credentials, its own threads.
 *
 * <p>Without one, {@link Elections#connect(String)} with a {@code dynamodb:} URI does all that is needed.
 */
public final class DynamoDbElections {
    private DynamoDbElections() {}

    /** Holds elections with default settings. */
    public static Elections using(DynamoDbAsyncClient client, String uri) {
        return using(client, uri, ElectionsConfig.defaults());
    }

    /**
     * Holds elections in the table that the URI names. Which region is asked, and at which endpoint, is the client's to
     * know: name the same in the URI, for messages. The client is the caller's to close. It may send again what had no
     * answer, as clients of the SDK do by default: a write that is refused because it was carried out before is known
     * again.
     *
     * @param uri such as {@code dynamodb://eu-west-1/elections}
     * @throws dev.bellwether.ElectionException if something is wrong that a person must fix, saying what
     * @throws dev.bellwether.UnavailableException if DynamoDB does not answer
     */
    public static Elections using(DynamoDbAsyncClient client, String uri, ElectionsConfig config) {
        var parsed = ConnectUri.parse(uri);
        return Elections.over(
                parsed + " by the given client",
                () -> LeaseStore.over(
                        DynamoDbRecordStore.open(DynamoDbSettings.of(parsed), client, () -> {}, () -> {})),
                config);
    }
}
