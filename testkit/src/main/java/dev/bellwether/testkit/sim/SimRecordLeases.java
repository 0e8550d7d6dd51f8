package dev.bellwether.testkit.sim;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Watch;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.Lease;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import dev.bellwether.spi.View;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * The record engine of one process. Its operators' orders are carried out beside the store, where the world keeps
 * account of them. Confined to the world.
 */
final class SimRecordLeases implements LeaseStore {
    private final World world;
    private final SimProcess process;
    private final LeaseStore engine;
    private final SimCalls calls;

    SimRecordLeases(World world, SimProcess process, SimRecordStore records) {
        this.world = world;
        this.process = process;
        engine = LeaseStore.over(records, process.clock(), world::stamp);
        calls = new SimCalls(world, process);
    }

    @Override
    public String describe() {
        return engine.describe();
    }

    @Override
    public void check(String election, CandidacyConfig config) {
        engine.check(election, config);
    }

    @Override
    public CompletionStage<Answer> acquire(Claim claim) {
        process.claims(claim);
        process.candidacies().forEach(one -> one.claims(claim));
        return engine.acquire(claim);
    }

    @Override
    public List<CompletionStage<Answer>> renew(List<Lease> leases) {
        return engine.renew(leases);
    }

    @Override
    public CompletionStage<Answer> release(Claim claim) {
        return engine.release(claim);
    }

    @Override
    public CompletionStage<View> read(String election) {
        return engine.read(election);
    }

    @Override
    public Watch watch(String election, Consumer<View> watcher) {
        return engine.watch(election, watcher);
    }

    @Override
    public CompletionStage<Boolean> order(String election, Order order) {
        return calls.call(
                "order " + order + " \"" + election + '"',
                () -> world.server().carryOut(election, order),
                String::valueOf);
    }

    @Override
    public CompletionStage<Boolean> note(String election, long token, String expected, String note) {
        world.server().noting(election, token, note);
        return engine.note(election, token, expected, note);
    }

    @Override
    public Optional<String> handOverObjection() {
        return engine.handOverObjection();
    }

    @Override
    public CompletionStage<List<String>> list() {
        return engine.list();
    }

    @Override
    public void close() {
        engine.close();
    }
}
