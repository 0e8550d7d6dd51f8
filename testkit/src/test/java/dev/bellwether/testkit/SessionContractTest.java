package dev.bellwether.testkit;

import dev.bellwether.spi.RecordTraits;

/** The contract over the record engine, each lease being kept by a session from its first renewal on. */
class SessionContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return RecordContractTest.over(RecordTraits.PLAIN.sharing(1));
    }
}
