package dev.bellwether.sql;

import java.sql.DriverManager;
import java.time.ZoneId;
import java.time.ZonedDateTime;

/** Tells by how much the clocks of databases within this process are ahead of the process's own. */
final class ClockMain {
    private ClockMain() {}

    public static void main(String[] uris) throws Exception {
        System.out.println("offset " + ZonedDateTime.now(ZoneId.systemDefault()).getOffset());
        for (var uri : uris) {
            try (var connection = DriverManager.getConnection(uri);
                    var statement = connection.createStatement();
                    var result = statement.executeQuery(
                            "SELECT " + Dialect.of(connection).now())) {
                result.next();
                System.out.println(
                        uri + " is ahead by ms: " + (result.getLong(1) / 1_000 - System.currentTimeMillis()));
            }
        }
    }
}
