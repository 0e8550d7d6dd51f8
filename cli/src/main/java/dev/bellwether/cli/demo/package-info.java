/**
 * {@code demo}: candidates as processes of their own, on a backend that is given or started for it, and what one can do
 * to them.
 */
@NullMarked
package dev.bellwether.cli.demo;

import org.jspecify.annotations.NullMarked;
