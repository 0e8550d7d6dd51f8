@NullMarked
package dev.bellwether.nats;

import org.jspecify.annotations.NullMarked;
