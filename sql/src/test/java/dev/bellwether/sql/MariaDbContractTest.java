package dev.bellwether.sql;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.util.Map;
import java.util.TreeMap;

/** The contract on MariaDB. */
class MariaDbContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        var server = MysqlFamilyServer.shared(Kind.MARIADB_PLAIN);
        return new SqlInfrastructure("MariaDB", server.uri()) {
            @Override
            String inAnotherTimeZone(String address) {
                return address + "&sessionVariables=time_zone='" + TimeZones.offsetOf(TimeZones.next()) + "'";
            }

            @Override
            public Linked connectLinked(ElectionsConfig config) {
                var proxy = proxied(server.port());
                return new Linked(Elections.connect(MysqlFamilyServer.uri(proxy.port()), config), proxy);
            }

            @Override
            public Map<String, Long> leftovers() {
                var counts = new TreeMap<>(super.leftovers());
                counts.put("connections", count("SELECT count(*) FROM information_schema.processlist"));
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
