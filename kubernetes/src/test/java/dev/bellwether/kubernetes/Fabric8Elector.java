package dev.bellwether.kubernetes;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.nio.file.Path;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** The elector of fabric8 itself, configured as our document says. */
final class Fabric8Elector implements ForeignElector {
    private final Setting setting;
    private final KubernetesClient client;
    private final Thread thread;
    private volatile CompletableFuture<?> standing = CompletableFuture.completedFuture(null);
    private volatile boolean leads;
    private volatile boolean closed;

    Fabric8Elector(Path kubeconfig, Setting setting) {
        this.setting = setting;
        var config = Config.fromKubeconfig(kubeconfig.toFile());
        config.setClientKeyAlgo("EC"); // as that of the test's kubeconfig is
        config.setRequestTimeout((int) setting.timings().renewDeadline().toMillis() / 2);
        config.setRequestRetryBackoffLimit(0);
        client = new KubernetesClientBuilder().withConfig(config).build();
        thread = new Thread(this::run, "fabric8-" + setting.identity());
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        while (!closed) {
            var timings = setting.timings();
            standing = client.leaderElector()
                    .withConfig(new LeaderElectionConfigBuilder()
                            .withName(setting.name())
                            .withLeaseDuration(timings.lease())
                            .withRenewDeadline(timings.renewDeadline())
                            .withRetryPeriod(timings.retryPeriod())
                            .withReleaseOnCancel(true)
                            .withLock(new LeaseLock(setting.namespace(), setting.name(), setting.identity()))
                            .withLeaderCallbacks(
                                    new LeaderCallbacks(() -> leads = true, () -> leads = false, leader -> {}))
                            .build())
                    .build()
                    .start();
            if (closed) {
                standing.cancel(true);
            }
            try {
                standing.join();
            } catch (CancellationException | CompletionException e) {
                // it has ended, and stands again unless it was closed
            }
        }
    }

    @Override
    public boolean leads() {
        return leads;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        standing.cancel(true);
        try {
            thread.join(20_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        client.close();
        leads = false;
    }
}
