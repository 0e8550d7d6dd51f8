package dev.bellwether.sql;

import dev.bellwether.fixtures.MysqlFamilyServer;
import dev.bellwether.fixtures.MysqlFamilyServer.Kind;
import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;

/** The contract on MariaDB. */
class MariaDbContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return MysqlFamilyInfrastructure.of("MariaDB", MysqlFamilyServer.shared(Kind.MARIADB_PLAIN));
    }
}
