@NullMarked
package dev.bellwether.testkit;

import org.jspecify.annotations.NullMarked;
