/** The server of a page for the browser, and the feed of what it shows: for {@code demo} and {@code console}. */
@NullMarked
package dev.bellwether.cli.page;

import org.jspecify.annotations.NullMarked;
