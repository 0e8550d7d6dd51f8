/** Figures of the SQL backend, beside others who keep a lease in a table. */
@NullMarked
package dev.bellwether.benchmarks.sql;

import org.jspecify.annotations.NullMarked;
