/** Ours and AWS's lock client, on DynamoDB's local server. */
@NullMarked
package dev.bellwether.benchmarks.dynamodb;

import org.jspecify.annotations.NullMarked;
