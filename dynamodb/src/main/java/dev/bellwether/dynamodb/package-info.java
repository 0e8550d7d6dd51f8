/**
 * Elections in a table of Amazon DynamoDB: an item is the seat, every change of it is a conditional write that compares
 * its revision, and the revision of the claim that won is the token. Requests go through the AWS SDK for Java 2.
 *
 * <p>Begin with {@link dev.bellwether.dynamodb.DynamoDbElections}, or with a {@code dynamodb:} URI.
 */
@NullMarked
package dev.bellwether.dynamodb;

import org.jspecify.annotations.NullMarked;
