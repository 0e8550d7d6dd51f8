@NullMarked
package dev.bellwether.dynamodb;

import org.jspecify.annotations.NullMarked;
