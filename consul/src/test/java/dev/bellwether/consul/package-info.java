@NullMarked
package dev.bellwether.consul;

import org.jspecify.annotations.NullMarked;
