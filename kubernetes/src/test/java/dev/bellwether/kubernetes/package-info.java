@NullMarked
package dev.bellwether.kubernetes;

import org.jspecify.annotations.NullMarked;
