/** What tests need that start servers of their own. */
@NullMarked
package dev.bellwether.testkit.servers;

import org.jspecify.annotations.NullMarked;
