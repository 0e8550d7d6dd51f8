package dev.bellwether.spi;

import dev.bellwether.ElectionException;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Where to connect: {@code scheme:body?name=value&name=value}, where the body may be
 * {@code //user:password@hosts/path}.
 *
 * <p>Immutable. Placeholders, <code>${env:NAME}</code> and <code>${file:/path}</code>, are filled in when it is parsed.
 * {@link #toString} shows placeholders as they were written, and stars for the password and for every parameter whose
 * name speaks of a secret; {@link #redact} does the same for the messages of a driver. Nothing else here repeats a
 * value.
 */
public final class ConnectUri {
    private static final Pattern SCHEME = Pattern.compile("([a-zA-Z][a-zA-Z0-9+.-]{0,30}):(.*)", Pattern.DOTALL);
    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{(env|file):([^}]*)\\}");
    private static final Pattern USER_INFO = Pattern.compile("//([^/?#@:]*)(:([^/?#]*))?@");
    private static final String SECRET =
            "(?:pass|secret|token|credential|jaas|private|keystore|truststore|\\bkey\\b|apikey|pwd|nkey|jwt)";
    private static final Pattern SECRET_NAME = Pattern.compile(SECRET, Pattern.CASE_INSENSITIVE);
    /** From the first colon after the user's name to the last at sign. */
    private static final Pattern PASSWORD = Pattern.compile(
            "(//|^[a-zA-Z][a-zA-Z0-9+.-]*:(?!.*//.*@))((?:\\$\\{[^}]*\\}|[^:/?#])*+):(.*)@", Pattern.DOTALL);

    /** What stands before the last at sign without a colon: a user, or a token; those of several hosts in one. */
    private static final Pattern TOKEN =
            Pattern.compile("^([a-zA-Z][a-zA-Z0-9+.-]*://)((?:(?:\\$\\{[^}]*\\}|[^:@/?#;])*+@)++)");

    /** A database in a file, whose path may hold an at sign. */
    private static final Pattern FILE = Pattern.compile("(?i)jdbc:(?:sqlite|h2):(?!.*//).*", Pattern.DOTALL);

    /** A secret of {@code (name=value)(name=value)}, or of {@code (name=value,name=value)}. */
    private static final Pattern PARENTHESISED = Pattern.compile(
            "([(,][^(),=/?&;]*" + SECRET + "[^(),=/?&;]*=)(.*?)(?=\\)\\s*(?:[(),\\]/?;]|$)|,\\s*[\\w.-]+\\s*=|$)",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    /** Where a driver may take a password apart that has not been encoded. */
    private static final Pattern SEPARATORS = Pattern.compile("\\$\\{(?:env|file):[^}]*\\}|[/?#:@;,&=()\\[\\]\\s]");

    /** What is no secret between those of two hosts: the first host, and the user of the second. */
    private static final Pattern NEXT_HOST = Pattern.compile("@[^@,]*,(?:[^@,:]*:)?");

    private static final Pattern PARAMETERS = Pattern.compile("[?;]");
    /** What an unencoded {@code &} may have cut off a secret, which may end as Base64 does: no name with a value. */
    private static final Pattern REST = Pattern.compile("[^=]*=*");

    private static final Pattern PARAMETER_NAME = Pattern.compile("(?:^|[?;])([^=?;]*)=");
    private static final String JOINT = "joint";
    /** A URI within a URI, of joint elections. */
    private static final Pattern NESTED = Pattern.compile("(\\??(?:old|next)=)(.+)", Pattern.DOTALL);

    private static final String STARS = "***";

    /** What others call what we have under another name. */
    private static final Map<String, String> MEANT = Map.of(
            "postgres", "jdbc:postgresql:",
            "postgresql", "jdbc:postgresql:",
            "mysql", "jdbc:mysql:",
            "mariadb", "jdbc:mariadb:",
            "sqlite", "jdbc:sqlite:",
            "h2", "jdbc:h2:",
            "zookeeper", "zk:",
            "jetstream", "nats:",
            "kubernetes", "k8s:");

    private final String scheme;
    private final String expanded;
    private final String shown;
    private final String body;
    private final String authority;
    private final String path;
    private final Optional<String> userInfo;
    private final long ats;
    private final Map<String, String> parameters;
    private final String forDriver;
    private final Map<String, String> filled = new LinkedHashMap<>();
    /** What was filled in, by placeholder: a file may be a pipe, or replaced between two readings. */
    private final Map<String, String> read = new HashMap<>();

    private final List<String> secrets = new ArrayList<>();

    private ConnectUri(String scheme, String text) {
        this.scheme = scheme;
        expanded = expand(text);
        shown = conceal(text);
        conceal(expanded); // only to learn its secrets
        secrets.sort(Comparator.comparingInt(String::length).reversed()); // all of one before its parts
        // the parts are found before placeholders are filled in: a secret may hold any character
        var query = text.indexOf('?');
        var raw = text.substring(scheme.length() + 1, query < 0 ? text.length() : query);
        body = expand(raw);
        var plain =
                PLACEHOLDER.matcher(raw).replaceAll(m -> "_".repeat(m.group().length()));
        var hasHosts = plain.startsWith("//");
        var slash = hasHosts ? plain.indexOf('/', 2) : -1;
        var hostsEnd = slash < 0 ? plain.length() : slash;
        var at = hasHosts ? plain.substring(2, hostsEnd).lastIndexOf('@') + 2 : 1;
        ats = plain.chars().filter(character -> character == '@').count();
        authority = hasHosts ? expand(raw.substring(at < 2 ? 2 : at + 1, hostsEnd)) : "";
        path = hasHosts ? expand(raw.substring(hostsEnd)) : "";
        userInfo = at < 2 ? Optional.empty() : Optional.of(userInfo(raw.substring(2, at), plain.substring(2, at)));
        parameters = query < 0 ? Map.of() : parametersOf(text.substring(query + 1));
        forDriver = query < 0 ? expanded : expand(text.substring(0, query)) + withoutFilled(text.substring(query + 1));
    }

    private String withoutFilled(String query) {
        var rest = new StringJoiner("&", "?", "").setEmptyValue("");
        for (var pair : query.split("&", -1)) {
            if (PLACEHOLDER.matcher(pair).find()) {
                var name = decode(pair.substring(0, pair.indexOf('=')));
                filled.put(name, parameters.getOrDefault(name, ""));
            } else {
                rest.add(pair);
            }
        }
        return rest.toString();
    }

    /**
     * Parses a URI.
     *
     * @throws ElectionException if it is malformed or a placeholder cannot be filled
     */
    public static ConnectUri parse(String text) {
        var matcher = SCHEME.matcher(text.strip());
        if (!matcher.matches()) {
            throw new ElectionException(
                    "the URI has no scheme: it must begin like jdbc:, kafka:, nats:, etcd:, consul:, k8s:, redis:, "
                            + "dynamodb:, zk: or memory:");
        }
        return new ConnectUri(matcher.group(1).toLowerCase(Locale.ROOT), text.strip());
    }

    /**
     * Connects through the provider that knows the scheme.
     *
     * @throws ElectionException if none does, or its client throws something of its own: without what may hold a secret
     */
    public Backend connect() {
        var provider = provider();
        try {
            return provider.connect(this);
        } catch (ElectionException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new ElectionException(
                    "cannot connect to " + this + ": " + redact(e.toString()), holdsSecret(e) ? null : e);
        }
    }

    boolean holdsSecret(Throwable error) {
        return Causes.of(error).stream()
                .map(String::valueOf)
                .anyMatch(said -> !redact(said).equals(said));
    }

    /**
     * Refuses what is wrong with this URI whatever the infrastructure says: its scheme, a port, a parameter. Connects
     * to nothing.
     *
     * @throws ElectionException if anything is
     */
    public void check() {
        var provider = provider();
        Endpoint.of(this);
        provider.check(this);
    }

    /**
     * Finds the provider that knows the scheme, without connecting.
     *
     * @throws ElectionException if none does
     */
    public ElectionsProvider provider() {
        var known = new TreeMap<String, ElectionsProvider>();
        for (var provider : ServiceLoader.load(ElectionsProvider.class)) {
            provider.schemes().forEach(s -> known.putIfAbsent(s, provider));
        }
        var provider = known.get(scheme);
        if (provider == null) {
            throw new ElectionException("no backend for the scheme \"" + scheme + ":\": "
                    + Optional.ofNullable(MEANT.get(scheme))
                            .map(meant -> "write " + meant
                                    + shown.substring(scheme.length() + 1).replaceFirst("//[^/@]*@", "//"))
                            .orElseGet(() -> "on the class path are "
                                    + String.join(
                                            ", ",
                                            known.keySet().stream()
                                                    .map(s -> s + ":")
                                                    .toList())
                                    + "; add the backend's jar, or correct the scheme"));
        }
        return provider;
    }

    /** Returns the scheme in lower case. */
    public String scheme() {
        return scheme;
    }

    /**
     * Returns the whole URI with placeholders filled in as they are, secrets and all: never for a message. A secret
     * with characters that mean something in a URI is better handed over by {@link #parameter}; to a driver, by {@link
     * #filled}.
     */
    public String expanded() {
        return expanded;
    }

    /**
     * Returns the URI for a driver, secrets and all, but without the parameters that are {@link #filled}: a driver
     * takes apart what stands in a URL, and decodes it.
     */
    public String forDriver() {
        return forDriver;
    }

    /** Returns the parameters in which placeholders were filled in, as they are. */
    public Map<String, String> filled() {
        return Collections.unmodifiableMap(filled);
    }

    /** Returns what stands between the scheme's colon and the question mark, secrets and all. */
    public String body() {
        return body;
    }

    /** Returns the hosts, such as {@code a:1,b:2}; empty if the body has none. */
    public String authority() {
        return authority;
    }

    /** Returns what follows the hosts, beginning with a slash; empty if nothing does. */
    public String path() {
        return path;
    }

    /** Returns what stands before the {@code @}, a password included. */
    public Optional<String> userInfo() {
        return userInfo;
    }

    /** Returns how many at signs stand before the parameters; those of a secret that is filled in do not count. */
    long ats() {
        return ats;
    }

    /** Returns a parameter. */
    public Optional<String> parameter(String name) {
        return Optional.ofNullable(parameters.get(name));
    }

    /**
     * Returns a parameter that is {@code true} or {@code false}.
     *
     * @throws ElectionException if it is neither, naming it and its value
     */
    public Optional<Boolean> flag(String name) {
        return given(name).map(Parameter::flag);
    }

    /**
     * Returns a parameter that is a whole number within these bounds.
     *
     * @throws ElectionException if it is not, naming it, its value and the bounds
     */
    public Optional<Integer> number(String name, int least, int most) {
        return given(name).map(parameter -> parameter.number(least, most));
    }

    /**
     * Returns a parameter that is a duration, such as {@code 500ms}: see {@link Durations#parse}.
     *
     * @throws ElectionException if it is none, naming it and its value
     */
    public Optional<Duration> duration(String name) {
        return given(name).map(Parameter::duration);
    }

    private Optional<Parameter> given(String name) {
        return parameter(name).map(value -> new Parameter(name, value, redact(value)));
    }

    /** Returns all parameters, in the order in which they were written. */
    public Map<String, String> parameters() {
        return Collections.unmodifiableMap(parameters);
    }

    /**
     * Refuses parameters other than these.
     *
     * @throws ElectionException if there are any, naming the first and what is known
     */
    @SafeVarargs
    public final void requireKnown(Collection<String>... known) {
        var names = new ArrayList<String>();
        for (var some : known) {
            names.addAll(some);
        }
        for (var name : parameters.keySet()) {
            if (!names.contains(name)) {
                throw new ElectionException(redact("unknown parameter \"" + name + "\" in " + this + ": "
                        + (names.isEmpty() ? "none is known here" : "known are " + String.join(", ", names))));
            }
        }
    }

    /** Returns a message with the secrets of this URI replaced by stars. */
    public String redact(String message) {
        var redacted = message.replace(expanded, shown);
        for (var secret : secrets) {
            redacted = redacted.replace(secret, STARS);
        }
        return redacted;
    }

    /** Returns the URI without secrets. */
    @Override
    public String toString() {
        return shown;
    }

    private String expand(String text) {
        var matcher = PLACEHOLDER.matcher(text);
        var result = new StringBuilder();
        while (matcher.find()) {
            var isVariable = matcher.group(1).equals("env");
            var name = matcher.group(2);
            var value =
                    read.computeIfAbsent(matcher.group(), first -> isVariable ? fromEnvironment(name) : fromFile(name));
            remember(value, secrets);
            matcher.appendReplacement(result, Matcher.quoteReplacement(value));
        }
        return matcher.appendTail(result).toString();
    }

    private static String fromEnvironment(String name) {
        var value = System.getenv(name);
        if (value == null) {
            throw new ElectionException("the URI refers to the environment variable " + name + ", which is not set");
        }
        return value;
    }

    private static String fromFile(String name) {
        try {
            return Files.readString(Path.of(name)).strip();
        } catch (IOException | InvalidPathException | SecurityException e) {
            throw new ElectionException(
                    "the URI refers to the file " + name + ", which cannot be read: " + e.getMessage(), e);
        }
    }

    /**
     * Returns the text with stars for its secrets, which are remembered. Where an odd character makes it unclear how
     * far a secret goes, it goes as far as it can: too much is hidden rather than too little.
     */
    private String conceal(String text) {
        var user = USER_INFO.matcher(text);
        if (user.find() && user.group(3) != null) {
            rememberInParts(user.group(3));
        }
        return scheme.equals(JOINT) ? concealJoint(text) : concealUri(text);
    }

    private String concealUri(String text) {
        // Parameters first: an at sign in one of them must not be taken for the end of a password.
        var shownText = PARENTHESISED.matcher(concealParameters(text)).replaceAll(m -> {
            rememberInParts(m.group(2));
            return Matcher.quoteReplacement(m.group(1) + shownAs(m.group(2)));
        });
        if (FILE.matcher(text).matches()) {
            return shownText;
        }
        shownText = PASSWORD.matcher(shownText).replaceFirst(m -> {
            rememberInParts(m.group(3));
            return Matcher.quoteReplacement(m.group(1) + m.group(2) + ":" + shownAs(m.group(3)) + "@");
        });
        return TOKEN.matcher(shownText).replaceFirst(m -> {
            var token = m.group(2).substring(0, m.group(2).length() - 1);
            rememberInParts(token);
            return Matcher.quoteReplacement(m.group(1) + (token.isEmpty() ? "" : shownAs(token)) + "@");
        });
    }

    /** Each parameter is a URI, and has concealed its own; before them nothing belongs. */
    private String concealJoint(String text) {
        var query = text.indexOf('?');
        var before = text.substring(JOINT.length() + 1, query < 0 ? text.length() : query);
        var unused = concealUri(before); // to learn its secrets
        return text.substring(0, JOINT.length() + 1)
                + (before.isEmpty() ? "" : shownAs(before))
                + (query < 0 ? "" : concealParameters(text.substring(query)));
    }

    private String concealParameters(String text) {
        var parameters = PARAMETERS.matcher(text);
        if (!parameters.find()) {
            return text;
        }
        var shownParts = new StringJoiner("&");
        var hidden = false;
        for (var part : text.substring(parameters.start()).split("&", -1)) {
            var shownPart = hidden && REST.matcher(part).matches() ? concealed("", part) : concealPart(part);
            hidden = shownPart.endsWith(STARS);
            shownParts.add(shownPart);
        }
        return text.substring(0, parameters.start()) + shownParts;
    }

    private String concealPart(String part) {
        var nested = NESTED.matcher(part);
        if (scheme.equals(JOINT) && nested.matches()) {
            return nested.group(1) + concealNested(nested.group(2));
        }
        var name = PARAMETER_NAME.matcher(part);
        while (name.find()) {
            if (SECRET_NAME.matcher(name.group(1)).find()) {
                return concealed(part.substring(0, name.end()), part.substring(name.end()));
            }
        }
        return part;
    }

    private String concealNested(String raw) {
        if (PLACEHOLDER.matcher(raw).matches() || raw.equals(STARS)) {
            return raw;
        }
        try {
            var nested = parse(value(raw));
            secrets.addAll(nested.secrets);
            return nested.shown;
        } catch (ElectionException e) {
            return shownAs(raw); // the process that connects is told
        }
    }

    private String concealed(String before, String secret) {
        remember(secret, secrets);
        var end = secret.indexOf('=');
        if (end >= 0 && REST.matcher(secret).matches()) {
            remember(secret.substring(0, end), secrets); // others take this for the name of a parameter
        }
        if (secret.indexOf(';') >= 0) {
            remember(secret.substring(0, secret.indexOf(';')), secrets); // some drivers end it there
        }
        return before + shownAs(secret);
    }

    /** A placeholder is no secret, and says more than stars. */
    private static String shownAs(String value) {
        return PLACEHOLDER.matcher(value).matches() ? value : STARS;
    }

    private void rememberInParts(String secret) {
        remember(secret, secrets);
        SEPARATORS.splitAsStream(NEXT_HOST.matcher(secret).replaceAll("@")).forEach(part -> remember(part, secrets));
    }

    private static void remember(String secret, List<String> secrets) {
        var decoded = decodeQuietly(secret);
        Stream.of(secret, decoded, decoded.strip())
                .filter(one -> one.length() > 2 && !secrets.contains(one))
                .forEach(secrets::add);
    }

    private Map<String, String> parametersOf(String query) {
        var found = new LinkedHashMap<String, String>();
        for (var pair : query.split("&", -1)) {
            if (pair.isEmpty()) {
                continue;
            }
            var equals = pair.indexOf('=');
            if (equals < 1) {
                throw new ElectionException("a parameter of " + this + " is not of the form name=value");
            }
            var name = decode(pair.substring(0, equals));
            if (found.put(name, value(pair.substring(equals + 1))) != null) {
                throw new ElectionException(redact("the parameter \"" + name + "\" occurs twice in " + this));
            }
        }
        return found;
    }

    /** Decodes user and password, each for itself; a secret that was filled in is taken as it is. */
    private String userInfo(String raw, String plain) {
        var colon = plain.indexOf(':');
        return colon < 0 ? value(raw) : value(raw.substring(0, colon)) + ":" + value(raw.substring(colon + 1));
    }

    private String value(String raw) {
        return PLACEHOLDER.matcher(raw).find() ? expand(raw) : decode(raw);
    }

    private static String decode(String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new ElectionException(
                    "the URI holds a % that is not followed by two hexadecimal digits; write it as %25");
        }
    }

    private static String decodeQuietly(String text) {
        try {
            return decode(text);
        } catch (ElectionException e) {
            return text; // parse() will complain of it, if it stands where it matters
        }
    }
}
