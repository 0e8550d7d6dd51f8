package dev.bellwether.sql;

import dev.bellwether.Elections;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.DriverManager;

/** Opens and closes each file that it is told on its input, and says how that went. Ends when its input does. */
final class SqliteRushMain {
    private SqliteRushMain() {}

    public static void main(String[] args) throws Exception {
        DriverManager.getConnection("jdbc:sqlite::memory:").close(); // so that the driver is loaded
        System.out.println("ready");
        var told = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var uri = told.readLine(); uri != null; uri = told.readLine()) {
            try {
                Elections.connect(uri).close();
                System.out.println("opened");
            } catch (RuntimeException e) {
                System.out.println(e + " caused by " + e.getCause());
            }
        }
    }
}
