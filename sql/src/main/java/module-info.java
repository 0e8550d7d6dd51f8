/** Elections on an SQL database. */
@org.jspecify.annotations.NullMarked
module dev.bellwether.sql {
    requires transitive dev.bellwether.core;
    requires transitive java.sql;
    requires org.slf4j;
    requires static transitive org.jspecify;
    // LISTEN needs the driver's own interface; anybody who uses another database does without this one
    requires static org.postgresql.jdbc;
    requires static org.checkerframework.checker.qual;

    exports dev.bellwether.sql;

    provides dev.bellwether.spi.ElectionsProvider with
            dev.bellwether.sql.SqlProvider;
}
