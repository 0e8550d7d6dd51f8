package dev.bellwether.examples;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.Mandate;
import dev.bellwether.sql.SqlConfig;
import dev.bellwether.sql.SqlElections;
import dev.bellwether.sql.SqlGuard;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/** The code of the page about SQL. */
final class SqlSteps {
    private SqlSteps() {}

    static void lead(DataSource dataSource, FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = SqlElections.using(dataSource);
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }

    static Elections configured(DataSource dataSource) {
        // tag::settings
        var config =
                SqlConfig.builder().table("ops.election").createTable(false).build();
        return SqlElections.using(dataSource, config, ElectionsConfig.defaults());
        // end::settings
    }

    static void guarded(DataSource dataSource, Mandate mandate) throws SQLException {
        // tag::guard
        var guard = SqlGuard.defaults();
        try (var connection = dataSource.getConnection()) {
            connection.setAutoCommit(false);
            guard.check(connection, mandate); // throws NotLeaderException: then roll back
            settleInvoices(connection);
            connection.commit(); // until here nobody else was granted the seat
        }
        // end::guard
    }

    static boolean conditional(Connection connection, Mandate mandate) throws SQLException {
        // tag::condition
        var guard = SqlGuard.defaults();
        var sql = "UPDATE invoice SET settled = 1 WHERE id = ? AND " + guard.condition(connection);
        try (var update = connection.prepareStatement(sql)) {
            update.setLong(1, 42);
            guard.bind(update, 2, mandate);
            return update.executeUpdate() == 1; // else somebody else leads, or there is no such invoice
        }
        // end::condition
    }

    private static void settleInvoices(Connection connection) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE invoice SET settled = 1");
        }
    }
}
