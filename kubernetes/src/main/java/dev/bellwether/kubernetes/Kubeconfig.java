package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.http.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/** One context of a kubeconfig file: a cluster, a user, a namespace. Immutable. */
record Kubeconfig(Path file, String context, Json cluster, Json user, String namespace) {
    private static final String OR_PROXY = "; or start kubectl proxy, and write k8s://127.0.0.1:8001/namespace";
    private static final String AS_TOKEN = "this library starts no programs. Give the user a tokenFile that something"
            + " else keeps fresh (kubectl create token NAME)" + OR_PROXY;
    private static final Map<String, String> REFUSED = Map.of(
            "exec",
            AS_TOKEN,
            "auth-provider",
            AS_TOKEN,
            "username",
            "API servers have no passwords since 1.19: give the user a token or a certificate",
            "as",
            "this library acts for nobody else: give the user the rights itself",
            "insecure-skip-tls-verify",
            "name the certificate-authority of the cluster, so that nobody else answers",
            "proxy-url",
            "give KubernetesElections.using an HTTP client with that proxy" + OR_PROXY,
            "tls-server-name",
            "use an address that is in the server's certificate" + OR_PROXY);
    private static final Set<String> OF_CLUSTER = Set.of("insecure-skip-tls-verify", "proxy-url", "tls-server-name");

    /**
     * Reads a file.
     *
     * @param context empty for the current one
     * @throws ElectionException if it cannot be used, saying why
     */
    static Kubeconfig of(Path file, String context) {
        Json all;
        try {
            all = json(new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(file)));
        } catch (IOException e) {
            throw new ElectionException("cannot read the kubeconfig file " + file + ": " + e, e);
        } catch (YAMLException e) {
            throw new ElectionException(file + " is no kubeconfig file: it is no YAML", e);
        }
        var wanted = context.isEmpty() ? all.text("current-context") : context;
        var chosen = named(file, all, "contexts", wanted, context.isEmpty()).at("context");
        var found = new Kubeconfig(
                file,
                wanted,
                named(file, all, "clusters", chosen.text("cluster"), false).at("cluster"),
                chosen.text("user").isEmpty()
                        ? new Json("")
                        : named(file, all, "users", chosen.text("user"), false).at("user"),
                chosen.text("namespace"));
        REFUSED.forEach(found::refuse);
        return found;
    }

    private static Json named(Path file, Json all, String list, String name, boolean isCurrent) {
        return all.list(list).stream()
                .filter(one -> one.text("name").equals(name))
                .findFirst()
                .orElseThrow(() -> new ElectionException("the kubeconfig file " + file
                        + (isCurrent && name.isEmpty()
                                ? " has no current-context: name one with ?context="
                                : " has no \"" + name + "\" among its " + list + ". It has: "
                                        + all.list(list).stream()
                                                .map(one -> one.text("name"))
                                                .toList())));
    }

    private void refuse(String field, String remedy) {
        var value = (OF_CLUSTER.contains(field) ? cluster : user).at(field).value();
        if (!value.equals("") && !value.equals("false")) {
            throw new ElectionException("context \"" + context + "\" of " + file + " uses " + field
                    + ", which is not supported: " + remedy);
        }
    }

    /** Returns what stands under this name as a file, or under the name with {@code -data} in base64. */
    Optional<byte[]> bytes(Json part, String name) {
        var data = part.text(name + "-data");
        try {
            if (!data.isEmpty()) {
                return Optional.of(Base64.getMimeDecoder().decode(data));
            }
            var path = path(part, name);
            return path.isEmpty() ? Optional.empty() : Optional.of(Files.readAllBytes(path.get()));
        } catch (IOException | IllegalArgumentException e) {
            throw new ElectionException(
                    "cannot read " + name + " of context \"" + context + "\" of " + file + ": " + e, e);
        }
    }

    /** Returns the file that is named here, as seen from the kubeconfig file. */
    Optional<Path> path(Json part, String name) {
        return part.text(name).isEmpty()
                ? Optional.empty()
                : Optional.of(file.toAbsolutePath().resolveSibling(part.text(name)));
    }

    private static Json json(@Nullable Object yaml) {
        if (yaml instanceof Map<?, ?> map) {
            var copy = new LinkedHashMap<String, Object>();
            map.forEach(
                    (name, value) -> copy.put(String.valueOf(name), json(value).value()));
            return new Json(copy);
        }
        return yaml instanceof List<?> list
                ? new Json(list.stream().map(one -> json(one).value()).toList())
                : new Json(yaml == null ? "" : yaml.toString());
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return "context \"" + context + "\" of " + file;
    }
}
