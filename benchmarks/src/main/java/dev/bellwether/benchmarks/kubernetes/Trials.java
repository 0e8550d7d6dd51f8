package dev.bellwether.benchmarks.kubernetes;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Trial;
import dev.bellwether.fixtures.ElectorInAProcess;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** Trials on one API server of Kubernetes: ours, and the electors of fabric8 and the official Java client. Arguments: those of {@link Trial}. */
final class Trials {
    private static final Duration LEASE = Duration.ofSeconds(2);
    /** They count whole seconds, and need some for their deadlines. */
    private static final Duration OF_OTHERS = Duration.ofSeconds(6);

    private static final int PLACES = 3;

    private Trials() {}

    public static void main(String[] arguments) {
        var trial = Trial.of(arguments, LEASE);
        try (var servers = KubernetesServers.start(1, 1);
                var ground = new LinkedServer(
                        "Kubernetes on 1 API server",
                        servers.member(0).port(),
                        PLACES,
                        link -> "k8s:ours?kubeconfig=" + servers.kubeconfig(link))) {
            trial.hold("Bellwether", BellwetherContestant.class, ground);
            var theirs = trial.withLease(OF_OTHERS);
            try (var byKubeconfig = new LinkedServer(
                    ground.describe(),
                    servers.member(0).port(),
                    PLACES,
                    link -> servers.kubeconfig(link).toString())) {
                theirs.hold("fabric8", ElectorInAProcess.Fabric8.class, byKubeconfig);
                theirs.hold("official Java client", ElectorInAProcess.JavaClient.class, byKubeconfig);
            }
        }
    }
}
