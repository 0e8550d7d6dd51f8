package dev.bellwether.benchmarks.etcd;

import dev.bellwether.testkit.faults.Contestant;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.election.LeaderKey;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * jetcd's Election, for the fault bench: campaigns under a lease that it keeps alive, leads from the end of the
 * campaign until it is told that the lease is kept alive no more, and then begins anew. Leaves by resigning and
 * revoking its lease. Its token is the revision at which its key was made.
 */
public final class JetcdInAProcess implements Contestant.Maker {
    /** For the process that stands. */
    public JetcdInAProcess() {}

    @Override
    public Contestant stand(Contestant.Orders orders) {
        return new Standing(orders);
    }

    private static final class Standing implements Contestant {
        private static final long RETRY_MILLIS = 100;

        private final Orders orders;
        private final Client client;
        private final Thread thread = new Thread(this::run, "jetcd");
        private volatile boolean leads;
        private volatile long token;

        Standing(Orders orders) {
            this.orders = orders;
            client = Client.builder().endpoints(orders.uri()).build();
            thread.start();
        }

        private void run() {
            try {
                while (true) {
                    try {
                        term();
                    } catch (ExecutionException e) {
                        TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt(); // it leaves
            }
        }

        private void term() throws InterruptedException, ExecutionException {
            var leases = client.getLeaseClient();
            var lease = leases.grant(orders.lease().toSeconds()).get().getID();
            var over = new CompletableFuture<Void>();
            var kept = leases.keepAlive(lease, new UntilOver(over));
            try {
                var campaign =
                        client.getElectionClient().campaign(bytes(orders.election()), lease, bytes(orders.candidate()));
                CompletableFuture.anyOf(campaign, over).get();
                if (over.isDone()) {
                    return;
                }
                lead(campaign.get().getLeader(), over);
            } finally {
                leads = false;
                kept.close();
                await(leases.revoke(lease));
            }
        }

        private void lead(LeaderKey key, CompletableFuture<Void> over) throws InterruptedException, ExecutionException {
            token = key.getRevision();
            leads = true;
            orders.held().run();
            try {
                over.get();
            } finally {
                leads = false;
                if (!over.isDone()) {
                    await(client.getElectionClient().resign(key));
                }
            }
            orders.held().run();
        }

        /** Also of one that was interrupted: it takes its time to leave in order. */
        private void await(CompletableFuture<?> answer) {
            var interrupted = Thread.interrupted();
            try {
                answer.get(orders.lease().toMillis(), TimeUnit.MILLISECONDS);
            } catch (ExecutionException | TimeoutException e) {
                answer.cancel(true); // the lease runs out by itself
            } catch (InterruptedException e) {
                interrupted = true;
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public boolean isLeader() {
            return leads;
        }

        @Override
        public long token() {
            return token;
        }

        @Override
        public void close() {
            thread.interrupt();
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            client.close();
        }

        private static ByteSequence bytes(String text) {
            return ByteSequence.from(text, StandardCharsets.UTF_8);
        }
    }

    /** Hears that a lease is kept alive no more. */
    private record UntilOver(CompletableFuture<Void> over) implements StreamObserver<LeaseKeepAliveResponse> {
        @Override
        public void onNext(LeaseKeepAliveResponse kept) {}

        @Override
        public void onError(Throwable failure) {
            over.complete(null);
        }

        @Override
        public void onCompleted() {
            over.complete(null);
        }
    }
}
