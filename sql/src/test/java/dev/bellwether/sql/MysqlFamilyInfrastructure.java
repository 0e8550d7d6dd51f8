package dev.bellwether.sql;

import dev.bellwether.Elections;
import dev.bellwether.ElectionsConfig;
import dev.bellwether.fixtures.MysqlFamilyServer;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;

/** A MariaDB or MySQL as the contract wants it, by one of the drivers. Confined to the thread of the test. */
final class MysqlFamilyInfrastructure extends SqlInfrastructure {
    private final MysqlFamilyServer server;
    private final IntFunction<String> uri;
    private final String plus;

    private MysqlFamilyInfrastructure(String name, MysqlFamilyServer server, IntFunction<String> uri, String plus) {
        super(name, uri.apply(server.port()));
        this.server = server;
        this.uri = uri;
        this.plus = plus;
    }

    /** Reached by MariaDB's driver. */
    static MysqlFamilyInfrastructure of(String name, MysqlFamilyServer server) {
        return new MysqlFamilyInfrastructure(name, server, MysqlFamilyServer::uri, "+");
    }

    /** Reached by MySQL's own driver, which decodes what stands in an address. */
    static MysqlFamilyInfrastructure byConnectorJ(String name, MysqlFamilyServer server) {
        return new MysqlFamilyInfrastructure(name, server, MysqlFamilyServer::uriOfConnectorJ, "%2B");
    }

    @Override
    String inAnotherTimeZone(String address) {
        return address + "&sessionVariables=time_zone='"
                + TimeZones.offsetOf(TimeZones.next()).replace("+", plus) + "'";
    }

    @Override
    public Linked connectLinked(ElectionsConfig config) {
        var proxy = proxied(server.port());
        return new Linked(Elections.connect(uri.apply(proxy.port()), config), proxy);
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
}
