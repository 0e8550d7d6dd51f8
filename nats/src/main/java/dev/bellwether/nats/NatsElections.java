package dev.bellwether.nats;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.spi.LeaseStore;
import io.nats.client.Connection;

/**
 * Elections on a NATS server that the application is connected to already.
 *
 * <p>What {@link Elections#connect(String)} does with a {@code nats:} URI, this does with a {@link Connection}. How
 * soon a connection notices that its server is gone is a matter of its options: see {@code docs/nats.md}.
 */
public final class NatsElections {
    private NatsElections() {}

    /** Holds elections in the bucket {@value NatsConfig#DEFAULT_BUCKET}, with default settings. */
    public static Elections using(Connection connection) {
        return using(connection, NatsConfig.defaults(), ElectionsConfig.defaults());
    }

    /**
     * Holds elections in a bucket. The connection stays open when the elections are closed.
     *
     * @throws dev.bellwether.ElectionException if the bucket is not as it should be, saying what is wrong with it
     * @throws dev.bellwether.UnavailableException if the server does not answer
     */
    public static Elections using(Connection connection, NatsConfig config, ElectionsConfig electionsConfig) {
        return Elections.over(
                "bucket " + config.bucket() + " of the given connection to NATS",
                () -> LeaseStore.over(NatsRecordStore.open(BucketClient.of(connection, config), config)),
                electionsConfig);
    }
}
