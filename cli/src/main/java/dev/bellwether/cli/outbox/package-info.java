/** The verbs of the outbox: {@code outbox}, {@code pump}, and {@code reap}, which reads goharvest's files. */
@NullMarked
package dev.bellwether.cli.outbox;

import org.jspecify.annotations.NullMarked;
