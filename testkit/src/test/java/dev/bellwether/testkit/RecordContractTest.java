package dev.bellwether.testkit;

import dev.bellwether.memory.MemoryRecordStore;
import dev.bellwether.spi.Clock;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.RecordStore;
import dev.bellwether.spi.RecordTraits;
import java.time.Duration;

/** The contract over the record engine: each client has one of its own, over records that all share. */
class RecordContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return over(RecordTraits.PLAIN);
    }

    static MemoryInfrastructure over(RecordTraits traits) {
        return new RecordInfrastructure(new MemoryRecordStore(Clock.system(), traits.listing(Duration.ofSeconds(10))));
    }

    private static final class RecordInfrastructure extends MemoryInfrastructure {
        private final RecordStore records;

        private RecordInfrastructure(RecordStore records) {
            super(LeaseStore.over(records));
            this.records = records;
        }

        @Override
        LeaseStore client() {
            return LeaseStore.over(records);
        }
    }
}
