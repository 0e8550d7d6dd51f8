package dev.bellwether.dynamodb;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import java.time.Duration;
import java.util.Set;
import java.util.function.Function;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;

/** Knows {@code dynamodb:} URIs. */
public final class DynamoDbProvider implements ElectionsProvider {
    /** For {@link java.util.ServiceLoader}. */
    public DynamoDbProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("dynamodb");
    }

    @Override
    public void check(ConnectUri uri) {
        DynamoDbSettings.of(uri);
    }

    @Override
    public Backend connect(ConnectUri uri) {
        var settings = DynamoDbSettings.of(uri);
        return connect(settings, connections(), http -> client(settings, http));
    }

    /** Connects by a client that is made over these connections, which are closed with what is connected. */
    static Backend connect(
            DynamoDbSettings settings,
            ReplaceableConnections http,
            Function<SdkAsyncHttpClient, DynamoDbAsyncClient> maker) {
        DynamoDbAsyncClient client;
        try {
            client = maker.apply(http);
        } catch (RuntimeException e) { // of files and variables that are there for the SDK
            http.close();
            throw new ElectionException(
                    settings + ": the AWS SDK cannot use its settings: check ~/.aws/config, ~/.aws/credentials and the"
                            + " variables whose names begin with AWS_ (it said: "
                            + settings.uri().redact(String.valueOf(e.getMessage())) + ")",
                    e);
        } catch (Error e) { // of classes that do not fit together, or without memory
            http.close();
            throw e;
        }
        Runnable close = () -> {
            client.close();
            http.close();
        };
        try {
            return LeaseStore.over(DynamoDbRecordStore.open(settings, client, http::unanswered, close));
        } catch (RuntimeException | Error e) {
            close.run();
            throw e;
        }
    }

    static ReplaceableConnections connections() {
        return new ReplaceableConnections(
                () -> NettyNioAsyncHttpClient.builder()
                        .maxConcurrency(TableClient.MOST_UNDER_WAY)
                        .connectionTimeout(Duration.ofSeconds(2))
                        .tcpKeepAlive(true)
                        .build(),
                Duration.ofMinutes(1));
    }

    /** It sends nothing again by itself: when that is worth it, core decides. */
    static DynamoDbAsyncClient client(DynamoDbSettings settings, SdkAsyncHttpClient http) {
        var builder = DynamoDbAsyncClient.builder()
                .region(Region.of(settings.region()))
                .overrideConfiguration(override -> override.retryStrategy(AwsRetryStrategy.doNotRetry()))
                .asyncConfiguration(async ->
                        async.advancedOption(SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, Runnable::run))
                .httpClient(http);
        settings.endpoint().ifPresent(builder::endpointOverride);
        return builder.build();
    }
}
