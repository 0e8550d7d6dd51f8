package dev.bellwether.kubernetes;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks at the API server: whether it can be used, and what an operator should know of it. Blocks. */
final class KubernetesDoctor {
    private static final Logger log = LoggerFactory.getLogger(KubernetesDoctor.class);
    /** What elections do with Leases. */
    static final List<String> VERBS = List.of("get", "list", "watch", "create", "update", "delete");

    private static final Duration PATIENCE = Duration.ofSeconds(3);
    private static final int COMPARABLE_SINCE = 35;

    private KubernetesDoctor() {}

    /**
     * Looks whether the server answers, and lets us list.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if it does not answer
     */
    static void requireReachable(KubernetesClient client) {
        try {
            requireList(client);
        } catch (UnavailableException | AccessRefusedException e) {
            throw e;
        } catch (ElectionException e) {
            requireReady(client);
            requireList(client);
        }
    }

    private static void requireList(KubernetesClient client) {
        client.members()
                .requireReachable(member -> client.get(Urgency.LOOK, "list", client.leases("?limit=1"), PATIENCE)
                        .thenApply(answer -> StoredLease.revision(
                                answer.json().at("metadata").text("resourceVersion"))));
    }

    /**
     * A server that is starting may not know of Leases yet: it says 404, and here that it is not ready.
     *
     * @throws UnavailableException if it says so
     */
    private static void requireReady(KubernetesClient client) {
        try {
            var unused = HttpMembers.answer(client.get(Urgency.LOOK, "get", "/readyz", PATIENCE));
        } catch (UnavailableException e) {
            throw e;
        } catch (ElectionException e) {
            log.debug("{} does not say that it is starting: {}", client, e.getMessage());
        }
    }

    static List<Finding> findings(KubernetesClient client) {
        var findings = new ArrayList<Finding>();
        var access = client.access();
        findings.add(Finding.ok(
                "place",
                "Leases of namespace " + access.namespace() + " at "
                        + client.members().name(0) + ", from " + access.origin()));
        client.members().lookUps().ifPresent(findings::add);
        findings.add(version(client));
        findings.addAll(rights(client));
        findings.add(Finding.ok(
                "durability",
                "a write that was acknowledged is in the etcd of the API server; how many members that has, and"
                        + " whether a backup was put back, it does not say"));
        return findings;
    }

    private static Finding version(KubernetesClient client) {
        try {
            var said = HttpMembers.answer(client.get(Urgency.LIST, "get", "/version", PATIENCE))
                    .json();
            var minor = new Json(said.value()).text("minor").replaceAll("[^0-9]", "");
            var promised = said.text("major").equals("1")
                    && minor.length() < 4
                    && !minor.isEmpty()
                    && Integer.parseInt(minor) >= COMPARABLE_SINCE;
            return Finding.ok(
                    "version",
                    "Kubernetes " + said.text("gitVersion") + ": a higher resourceVersion is a later one, "
                            + (promised
                                    ? "by its documentation"
                                    : "as in every one whose store is etcd; its documentation promises it since 1."
                                            + COMPARABLE_SINCE));
        } catch (ElectionException e) {
            return Finding.warning(
                    "version",
                    "the server does not say its version, so that we cannot say whether a higher resourceVersion is a"
                            + " later one",
                    "let the account get /version, as the role system:public-info-viewer does; or see that the server"
                            + " is 1." + COMPARABLE_SINCE + " or newer, or keeps its objects in etcd");
        }
    }

    private static List<Finding> rights(KubernetesClient client) {
        var missing = new ArrayList<String>();
        for (var verb : VERBS) {
            var review = "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":"
                    + "{\"resourceAttributes\":{\"namespace\":\""
                    + client.access().namespace() + "\",\"verb\":\""
                    + verb + "\",\"group\":\"coordination.k8s.io\",\"resource\":\"leases\"}}}";
            try {
                var answer = HttpMembers.answer(client.write(
                        Urgency.LIST,
                        "create",
                        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                        review,
                        PATIENCE));
                if (!answer.json().at("status").flag("allowed")) {
                    missing.add(verb);
                }
            } catch (ElectionException e) {
                return List.of(Finding.warning(
                        "rights",
                        "the server does not say what we may do: " + e.getMessage(),
                        "make sure that the account may " + String.join(", ", VERBS) + " leases"));
            }
        }
        return List.of(
                missing.isEmpty()
                        ? Finding.ok("rights", "the account may " + String.join(", ", VERBS) + " leases")
                        : Finding.error(
                                "rights",
                                "the account may not " + String.join(", ", missing) + " leases in namespace "
                                        + client.access().namespace(),
                                "grant a Role with these verbs on leases of coordination.k8s.io"));
    }
}
