/** A backend of one's own, whole: what the page about the contract shows. */
@NullMarked
package dev.bellwether.examples.folder;

import org.jspecify.annotations.NullMarked;
