/** The server of a page for the browser, and the feed of what it shows. {@code demo} and {@code console} use it. */
@NullMarked
package dev.bellwether.cli.page;

import org.jspecify.annotations.NullMarked;
