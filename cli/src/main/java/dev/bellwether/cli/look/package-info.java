/**
 * The verbs that look and change nothing: {@code ls}, {@code show}, {@code roles}, {@code watch}, {@code schema} and
 * {@code doctor}.
 */
@NullMarked
package dev.bellwether.cli.look;

import org.jspecify.annotations.NullMarked;
