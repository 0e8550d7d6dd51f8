package dev.bellwether.testkit.sim;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Election;
import dev.bellwether.Elections;
import dev.bellwether.Leader;
import dev.bellwether.UnavailableException;
import dev.bellwether.Watch;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.Order;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** The elections of one process: the real ones, but for what waits. */
final class SimElections implements Elections {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final World world;
    private final SimProcess process;
    private final Elections real;
    private final LeaseStore store;
    private int serial;

    SimElections(World world, SimProcess process, Elections real, LeaseStore store) {
        this.world = world;
        this.process = process;
        this.real = real;
        this.store = store;
    }

    @Override
    public Candidacy stand(String election, CandidacyConfig config) {
        var candidacy = new ObservedCandidacy(world, process, election, config, process.name() + "." + ++serial);
        candidacy.begin(real);
        return candidacy;
    }

    @Override
    public Election election(String name) {
        var election = real.election(name);
        return new Election() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public State state() {
                var view = answer(store.read(name));
                return new State(view.leader(), view.candidates(), view.ended());
            }

            @Override
            public Watch watch(Consumer<Optional<Leader>> watcher) {
                process.observing();
                return election.watch(watcher);
            }

            @Override
            public boolean standDown() {
                return answer(store.order(name, Order.STAND_DOWN));
            }

            @Override
            public void end() {
                answer(store.order(name, Order.END));
            }

            @Override
            public boolean reopen() {
                return answer(store.order(name, Order.REOPEN));
            }

            @Override
            public void delete() {
                answer(store.order(name, Order.DELETE));
            }
        };
    }

    @Override
    public List<String> list() {
        return answer(store.list()).stream().sorted().toList();
    }

    @Override
    public void close() {
        process.candidacies().forEach(Candidacy::resign);
        process.candidacies().forEach(Candidacy::close);
    }

    private <T> T answer(CompletionStage<T> stage) {
        var future = stage.toCompletableFuture();
        try {
            if (!world.crew().await(future::isDone, TIMEOUT)) {
                throw new UnavailableException("no answer within " + TIMEOUT);
            }
        } catch (InterruptedException e) {
            throw new UnavailableException("interrupted while waiting", e);
        }
        if (future.isCompletedExceptionally()) {
            throw new UnavailableException("no answer");
        }
        return future.join();
    }
}
