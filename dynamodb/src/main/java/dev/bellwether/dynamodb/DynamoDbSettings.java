package dev.bellwether.dynamodb;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.Durations;
import dev.bellwether.spi.RecordTraits;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What a {@code dynamodb:} URI says. Immutable.
 *
 * @param endpoint empty for that of the region
 * @param prefix of all partition keys
 * @param creates whether to make the table if it is not there
 * @param acceptsReplicas whether to hold elections in a table whose writes are decided in each region for itself
 * @param poll how often what is watched is read; zero for never
 */
record DynamoDbSettings(
        ConnectUri uri,
        String region,
        String table,
        Optional<URI> endpoint,
        String prefix,
        boolean creates,
        boolean acceptsReplicas,
        Duration poll,
        RecordTraits traits) {
    private static final Duration POLL = Duration.ofSeconds(2);
    private static final Duration LEAST_POLL = Duration.ofMillis(100);

    /**
     * Reads a URI.
     *
     * @throws ElectionException if something in it is wrong
     */
    static DynamoDbSettings of(ConnectUri uri) {
        uri.requireKnown(List.of("endpoint", "prefix", "create", "replicas", "poll"), RecordTraits.PARAMETERS);
        var table = uri.path().replaceAll("^/|/$", "");
        if (!uri.authority().matches("[a-z]{2}[a-z0-9-]+")
                || !table.matches("[A-Za-z0-9._-]{3,255}")
                || uri.userInfo().isPresent()) {
            throw new ElectionException(uri + " must be of the form dynamodb://region/table, such as"
                    + " dynamodb://eu-west-1/elections, the table of 3 to 255 letters, digits and . _ -; credentials"
                    + " are found as the AWS SDK finds them, not in the URI");
        }
        var prefix = uri.parameter("prefix").orElse("bellwether");
        if (!prefix.matches("[A-Za-z0-9._~/-]{1,200}")) {
            throw new ElectionException(
                    "prefix is \"" + prefix + "\": it must be 1 to 200 letters, digits and . _ ~ - /");
        }
        var replicas = uri.parameter("replicas").orElse("refused");
        if (!List.of("refused", "accepted").contains(replicas)) {
            throw new ElectionException("replicas is \"" + replicas + "\": it must be refused or accepted");
        }
        return new DynamoDbSettings(
                uri,
                uri.authority(),
                table,
                uri.parameter("endpoint").map(DynamoDbSettings::endpoint),
                prefix,
                uri.flag("create").orElse(false),
                replicas.equals("accepted"),
                poll(uri),
                RecordTraits.of(uri));
    }

    private static Duration poll(ConnectUri uri) {
        if (uri.parameter("poll").filter("0"::equals).isPresent()) {
            return Duration.ZERO;
        }
        var poll = uri.duration("poll").orElse(POLL);
        if (poll.compareTo(LEAST_POLL) < 0) {
            throw new ElectionException("poll is " + Durations.show(poll) + ": it must be " + Durations.show(LEAST_POLL)
                    + " at least, or 0 for never");
        }
        return poll;
    }

    private static URI endpoint(String text) {
        if (!text.matches("https?://[^/?#@\\s]+/?")) {
            throw new ElectionException(
                    "endpoint is \"" + text + "\": it must be like http://localhost:8000 or https://host");
        }
        try {
            return URI.create(text);
        } catch (IllegalArgumentException e) {
            throw new ElectionException("endpoint is \"" + text + "\", which is no address: " + e.getMessage(), e);
        }
    }

    /** Returns the command that makes the table. */
    String command() {
        return "aws dynamodb create-table --region " + region
                + endpoint.map(at -> " --endpoint-url " + at).orElse("") + " --table-name " + table
                + " --attribute-definitions AttributeName=pk,AttributeType=S AttributeName=sk,AttributeType=S"
                + " --key-schema AttributeName=pk,KeyType=HASH AttributeName=sk,KeyType=RANGE"
                + " --billing-mode PAY_PER_REQUEST --deletion-protection-enabled";
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return uri.toString();
    }
}
