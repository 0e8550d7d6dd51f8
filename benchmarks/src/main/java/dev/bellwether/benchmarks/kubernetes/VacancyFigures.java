package dev.bellwether.benchmarks.kubernetes;

import dev.bellwether.benchmarks.LinkedServer;
import dev.bellwether.benchmarks.Vacancies;
import dev.bellwether.fixtures.KubernetesServers;
import dev.bellwether.testkit.faults.BellwetherContestant;
import java.time.Duration;

/** How long nobody leads on one API server of Kubernetes. Argument: rounds. */
final class VacancyFigures {
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final int PLACES = 3;

    private VacancyFigures() {}

    public static void main(String[] arguments) {
        var vacancies = Vacancies.of(arguments, LEASE);
        try (var servers = KubernetesServers.start(1, 1);
                var ground = new LinkedServer(
                        "Kubernetes on 1 API server",
                        servers.member(0).port(),
                        PLACES,
                        link -> "k8s:ours?kubeconfig=" + servers.kubeconfig(link))) {
            vacancies.measure("Bellwether", BellwetherContestant.class, ground);
        }
    }
}
