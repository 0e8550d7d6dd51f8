package dev.bellwether.sql;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;

/** The contract on MySQL, by MySQL's own driver; the other tests reach it by MariaDB's. */
class MySqlContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return MysqlFamilyInfrastructure.byConnectorJ("MySQL", MysqlFamilyServer.shared(Kind.MYSQL));
    }
}
