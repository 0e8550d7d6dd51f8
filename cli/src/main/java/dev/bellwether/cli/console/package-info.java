/** {@code console}: a page that shows who leads what, and takes orders. */
@NullMarked
package dev.bellwether.cli.console;

import org.jspecify.annotations.NullMarked;
