@NullMarked
package dev.bellwether.redis;

import org.jspecify.annotations.NullMarked;
