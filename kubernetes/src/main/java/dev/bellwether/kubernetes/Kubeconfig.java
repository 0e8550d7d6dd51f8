package dev.bellwether.kubernetes;

import dev.bellwether.ElectionException;
import dev.bellwether.http.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/** One context of a kubeconfig file: a cluster, a user, a namespace. Immutable. */
record Kubeconfig(Path file, String context, Json cluster, Json user, String namespace) {
    private static final int MOST_ALIASES = 10;
    private static final int DEEPEST = 30;
    private static final String NO_PROGRAMS = "this library starts no programs. Give the user a tokenFile that"
            + " something else keeps fresh (kubectl create token), or start kubectl proxy and name"
            + " http://127.0.0.1:8001 as the server";
    private static final Map<String, String> REFUSED = Map.of(
            "exec", NO_PROGRAMS,
            "auth-provider", NO_PROGRAMS,
            "username", "API servers accept no passwords since 1.19:  give the user a token or a certificate",
            "as", "this library cannot impersonate a user: give the user the rights itself",
            "insecure-skip-tls-verify",
                    "name the certificate-authority of the cluster, so that no other server can" + " answer",
            "proxy-url", "give KubernetesElections.using an HTTP client with that proxy",
            "tls-server-name", "name as the server what is in its certificate");

    /**
     * Reads a file.
     *
     * @param context empty for the current one
     * @throws ElectionException if it cannot be used, saying why
     */
    static Kubeconfig of(Path file, String context) {
        Json all;
        try {
            all = json(new Yaml(new SafeConstructor(loading())).load(Files.readString(file)), 0);
        } catch (IOException | YAMLException e) {
            throw new ElectionException(
                    "cannot read the kubeconfig file " + file + ": "
                            + (e instanceof IOException ? e.toString() : "it is no YAML"),
                    e);
        }
        var wanted = context.isEmpty() ? all.text("current-context") : context;
        var chosen = named(file, all, "context", wanted);
        var found = new Kubeconfig(
                file,
                wanted,
                named(file, all, "cluster", chosen.text("cluster")),
                chosen.text("user").isEmpty() ? new Json("") : named(file, all, "user", chosen.text("user")),
                chosen.text("namespace"));
        REFUSED.forEach((field, remedy) -> {
            for (var part : List.of(found.cluster, found.user)) {
                if (!List.of("", "false").contains(part.at(field).value())) {
                    throw new ElectionException(found + " uses " + field + ", which is not supported: " + remedy);
                }
            }
        });
        return found;
    }

    private static Json named(Path file, Json all, String kind, String name) {
        var list = all.list(kind + "s");
        return list.stream()
                .filter(one -> one.text("name").equals(name))
                .findFirst()
                .orElseThrow(
                        () -> new ElectionException("the kubeconfig file " + file + " has no " + kind + " \"" + name
                                + "\", but "
                                + list.stream().map(one -> one.text("name")).toList()
                                + (kind.equals("context") ? ": name one with ?context=" : "")))
                .at(kind);
    }

    /**
     * Returns what stands under this name as a file, or under the name with {@code -data} in base64.
     *
     * @throws ElectionException if it cannot be read
     */
    FreshText text(Json part, String name) {
        try {
            var data = part.text(name + "-data");
            return data.isEmpty() && !part.text(name).isEmpty()
                    ? new FreshText(file.toAbsolutePath().resolveSibling(part.text(name)))
                    : new FreshText(
                            new String(Base64.getDecoder().decode(data.replaceAll("\\s", "")), StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
            throw new ElectionException(name + "-data of " + this + " is not in base64", e);
        }
    }

    /** A few references that lead to collections make nothing large; many would. */
    private static LoaderOptions loading() {
        var options = new LoaderOptions();
        options.setMaxAliasesForCollections(MOST_ALIASES);
        return options;
    }

    /** All that is in it as texts, maps and lists. */
    private static Json json(@Nullable Object yaml, int depth) {
        if (depth > DEEPEST) {
            throw new YAMLException("it is nested more than " + DEEPEST + " deep, or holds itself");
        }
        if (yaml instanceof Map<?, ?> map) {
            var copy = new LinkedHashMap<String, Object>();
            map.forEach((name, value) ->
                    copy.put(String.valueOf(name), json(value, depth + 1).value()));
            return new Json(copy);
        }
        return yaml instanceof List<?> list
                ? new Json(
                        list.stream().map(one -> json(one, depth + 1).value()).toList())
                : new Json(yaml == null ? "" : yaml.toString());
    }

    /** Shows no secret. */
    @Override
    public String toString() {
        return "context \"" + context + "\" of " + file;
    }
}
