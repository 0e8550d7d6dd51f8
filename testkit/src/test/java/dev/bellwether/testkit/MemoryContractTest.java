package dev.bellwether.testkit;

/** The contract over the memory backend. */
// tag::contract-test
class MemoryContractTest extends ElectionsContract {
    @Override
    protected Infrastructure infrastructure() {
        return new MemoryInfrastructure();
    }
}
// end::contract-test
