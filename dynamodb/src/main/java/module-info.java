/** Elections in a table of Amazon DynamoDB. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.dynamodb {
    requires transitive dev.bellwether.core;
    requires transitive software.amazon.awssdk.services.dynamodb;
    requires software.amazon.awssdk.awscore;
    requires software.amazon.awssdk.core;
    requires software.amazon.awssdk.http;
    requires software.amazon.awssdk.http.nio.netty;
    requires software.amazon.awssdk.regions;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports dev.bellwether.dynamodb;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.dynamodb.DynamoDbProvider;
}
