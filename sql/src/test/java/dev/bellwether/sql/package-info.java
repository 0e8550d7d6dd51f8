@NullMarked
package dev.bellwether.sql;

import org.jspecify.annotations.NullMarked;
