package dev.bellwether.sql;

import dev.bellwether.testkit.ElectionsContract;
import dev.bellwether.testkit.Infrastructure;
import java.util.Map;

/** The contract on H2, in memory. */
class H2ContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return new SqlInfrastructure("H2", "jdbc:h2:mem:contract;DB_CLOSE_DELAY=-1") {
            @Override
            String inAnotherTimeZone(String address) {
                return address + ";TIME ZONE=" + TimeZones.next();
            }

            @Override
            public Map<Capability, String> lacks() {
                return Map.of(
                        Capability.RESTART, "it lives in the memory of the test",
                        Capability.PAUSE, "it runs on the threads of its clients");
            }
        };
    }
}
