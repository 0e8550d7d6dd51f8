/**
 * The verbs that give an order to an election: {@code stand-down}, {@code hand-over}, {@code end}, {@code reopen} and
 * {@code delete}.
 */
@NullMarked
package dev.bellwether.cli.order;

import org.jspecify.annotations.NullMarked;
