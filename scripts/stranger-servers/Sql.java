import java.sql.DriverManager;
import java.sql.SQLException;

/** Executes a statement for {@code scripts/stranger}. */
final class Sql {
    private Sql() {}

    public static void main(String[] args) throws SQLException {
        try (var connection = DriverManager.getConnection(args[0]);
                var statement = connection.createStatement()) {
            statement.execute(args[1]);
        }
    }
}
