package dev.bellwether.sql;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.PostgresServer;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.util.Map;
import java.util.TimeZone;
import org.junit.jupiter.api.AfterAll;

/** The contract on PostgreSQL. */
class PostgresContractTest extends ElectionsContract {
    private static final TimeZone DEFAULT = TimeZone.getDefault();

    @AfterAll
    static void putTheTimeZoneBack() {
        TimeZone.setDefault(DEFAULT);
    }

    @Override
    protected Infrastructure infrastructure() {
        var server = PostgresServer.shared();
        return new SqlInfrastructure("PostgreSQL", server.uri()) {
            @Override
            String inAnotherTimeZone(String address) {
                TimeZone.setDefault(TimeZone.getTimeZone(TimeZones.next())); // which the driver hands to the session
                return address;
            }

            @Override
            public Linked connectLinked(ElectionsConfig config) {
                var proxy = proxied(server.port());
                return new Linked(Elections.connect(PostgresServer.uri(proxy.port()), config), proxy);
            }

            @Override
            public Map<String, Long> leftovers() {
                var counts = new java.util.TreeMap<>(super.leftovers());
                counts.put(
                        "connections",
                        count("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"));
                return counts;
            }

            @Override
            public void restartServer() {
                server.crashAndRestart();
            }

            @Override
            public void pauseServer() {
                server.pause();
            }

            @Override
            public void resumeServer() {
                server.resume();
            }
        };
    }
}
