package dev.bellwether.examples;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.bellwether.Candidacy;
import dev.bellwether.Elections;
import dev.bellwether.Phase;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/** The code of the page about Kubernetes. */
final class KubernetesSteps {
    private KubernetesSteps() {}

    static void lead(FirstSteps.Ledger ledger) throws InterruptedException {
        // tag::connect
        try (var elections = Elections.connect("k8s:");
                var candidacy = elections.stand("billing")) {
            candidacy.whileLeading(mandate -> ledger.settle(mandate.token()));
            candidacy.awaitClose();
        }
        // end::connect
    }

    static void probe(HttpServer server, Candidacy candidacy, BooleanSupplier canServe) {
        // tag::probes
        // your server's own: a standby serves, too
        server.createContext("/ready", request -> answer(request, canServe.getAsBoolean()));
        // false once the candidacy has ended: only a new start stands again
        server.createContext(
                "/live",
                request -> answer(
                        request,
                        candidacy.failure().isEmpty() && candidacy.status().phase() != Phase.CLOSED));
        // end::probes
    }

    private static void answer(HttpExchange request, boolean good) throws IOException {
        request.sendResponseHeaders(good ? 200 : 503, -1);
        request.close();
    }
}
