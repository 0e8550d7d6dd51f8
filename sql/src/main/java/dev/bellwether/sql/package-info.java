/**
 * Elections on an SQL database.
 *
 * <p>A row per election keeps who holds the seat, under which token, and until when by the database's clock; it is
 * never deleted, so that the token never falls. A second table lists who stands.
 * {@link dev.bellwether.sql.SqlElections} is where to begin with a data source, a {@code jdbc:} URI where there is
 * none; {@link dev.bellwether.sql.SqlGuard} checks a mandate in the transaction that it protects;
 * {@link dev.bellwether.sql.SqlSchema} tells the tables.
 */
@NullMarked
package dev.bellwether.sql;

import org.jspecify.annotations.NullMarked;
