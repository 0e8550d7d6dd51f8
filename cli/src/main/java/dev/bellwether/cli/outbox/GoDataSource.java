package dev.bellwether.cli.outbox;

import dev.bellwether.cli.command.UsageException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** How Go's driver names a PostgreSQL: pairs, or a URL without a {@code jdbc:} before it. */
final class GoDataSource {
    /** A name before another pair has no value, as in the original's own default: {@code password= dbname=postgres}. */
    private static final Pattern PAIR =
            Pattern.compile("(\\w+)\\s*=(?!\\s+\\w+\\s*=)\\s*(?:'((?:[^'\\\\]|\\\\.)*)'|(\\S*))");

    /** Where the query of a URL begins, with a name: a question mark of a password is none. */
    private static final Pattern QUERY = Pattern.compile("\\?(?=\\w+=|$)");

    /** What the driver for Java calls otherwise. */
    private static final Map<String, String> NAMES = Map.of(
            "connect_timeout", "connectTimeout",
            "search_path", "currentSchema",
            "application_name", "ApplicationName",
            "krbsrvname", "kerberosServerName");

    /** What is of the driver for Go, or settled by that for Java. */
    private static final Set<String> DROPPED = Set.of(
            "binary_parameters",
            "disable_prepared_binary_result",
            "fallback_application_name",
            "client_encoding",
            "extra_float_digits",
            "krbspn",
            "sslinline",
            "sslsni");

    /** What the driver for Java sets in each session, whatever else has set it. */
    private static final Set<String> SET_BY_DRIVER = Set.of("timezone", "datestyle");

    /** The variables that Go's driver reads, for what a data source leaves out, by the names that it has there. */
    private static final Map<String, String> VARIABLES = Map.ofEntries(
            Map.entry("host", "PGHOST"),
            Map.entry("port", "PGPORT"),
            Map.entry("dbname", "PGDATABASE"),
            Map.entry("user", "PGUSER"),
            Map.entry("password", "PGPASSWORD"),
            Map.entry("options", "PGOPTIONS"),
            Map.entry("application_name", "PGAPPNAME"),
            Map.entry("connect_timeout", "PGCONNECT_TIMEOUT"),
            Map.entry("sslmode", "PGSSLMODE"),
            Map.entry("sslcert", "PGSSLCERT"),
            Map.entry("sslkey", "PGSSLKEY"),
            Map.entry("sslrootcert", "PGSSLROOTCERT"));

    /** What comes before the query. */
    private static final List<String> PLACES = List.of("host", "port", "dbname");

    private static final Pattern PLACE = Pattern.compile("(\\[[^\\]]*\\]|[^:/,]*)(?::(\\d*))?(?:/(.*))?");

    private static final String MODE = "sslmode";
    private static final String REQUIRE = "require";

    private GoDataSource() {}

    /** Returns the URI for the driver for Java, which reads none of the variables of this environment. */
    static String jdbc(String source, Map<String, String> environment, List<String> warnings) {
        if (source.startsWith("jdbc:")) {
            return source;
        }
        var set = new TreeMap<String, String>();
        VARIABLES.forEach((name, variable) -> {
            var value = environment.getOrDefault(variable, "");
            if (!value.isEmpty()) {
                set.put(name, value);
            }
        });
        if (source.startsWith("postgres://") || source.startsWith("postgresql://")) {
            return fromUrl(source.substring(source.indexOf("://") + 3), set, warnings);
        }
        var pairs = new LinkedHashMap<String, String>();
        var matcher = PAIR.matcher(source);
        while (matcher.find()) {
            var value = matcher.group(2) != null ? matcher.group(2).replaceAll("\\\\(.)", "$1") : matcher.group(3);
            if (!value.isEmpty()) {
                pairs.put(matcher.group(1), value);
            }
        }
        set.forEach(pairs::putIfAbsent);
        var host = pairs.getOrDefault("host", "localhost");
        var port = pairs.getOrDefault("port", "5432");
        var database = pairs.getOrDefault("dbname", pairs.getOrDefault("user", "postgres"));
        pairs.keySet().removeAll(PLACES);
        pairs.replaceAll((name, value) -> encoded(value));
        return "jdbc:postgresql://" + host(host) + ':' + port + '/' + encoded(database) + query(pairs, warnings);
    }

    /** Returns what the driver for Java is told; what is no setting of it goes to each session, as in Go. */
    private static String query(Map<String, String> given, List<String> warnings) {
        var settings = settingsOfDriver();
        var parameters = new LinkedHashMap<String, String>();
        given.forEach((name, value) -> {
            if (name.equals("options")) {
                option(parameters, value);
            } else if (NAMES.containsKey(name)) {
                parameters.put(NAMES.get(name), value);
            } else if (settings.contains(name) || PLACES.contains(name)) {
                parameters.put(name, value);
            } else if (SET_BY_DRIVER.contains(name.toLowerCase(Locale.ROOT))) {
                warnings.add("harvest.dataSource: " + name + " has no effect here: PostgreSQL's driver for Java sets it"
                        + " by itself");
            } else if (!DROPPED.contains(name)) {
                var escaped = decoded(value).replace("\\", "\\\\").replace(" ", "\\ ");
                option(parameters, encoded("-c " + name + '=' + escaped));
            }
        });
        encrypt(parameters);
        return parameters.entrySet().stream()
                .map(one -> one.getKey() + '=' + one.getValue())
                .collect(Collectors.joining("&", "?", ""));
    }

    private static Set<String> settingsOfDriver() {
        try {
            var any = "jdbc:postgresql:";
            return Arrays.stream(DriverManager.getDriver(any).getPropertyInfo(any, new Properties()))
                    .map(setting -> setting.name)
                    .collect(Collectors.toSet());
        } catch (SQLException e) {
            throw new IllegalStateException("PostgreSQL's driver is missing", e);
        }
    }

    /**
     * Encrypts as Go's driver does, where that for Java would do less: if nothing is said of it, and, by a certificate
     * of an authority that is there, only with a server that has one of that authority.
     */
    private static void encrypt(Map<String, String> parameters) {
        parameters.putIfAbsent(MODE, REQUIRE);
        var authority = parameters.get("sslrootcert");
        if (authority != null && REQUIRE.equals(parameters.get(MODE)) && Files.exists(Path.of(decoded(authority)))) {
            parameters.put(MODE, "verify-ca");
        }
    }

    private static void option(Map<String, String> parameters, String encoded) {
        parameters.merge("options", encoded, (some, more) -> some + '+' + more);
    }

    private static String fromUrl(String rest, Map<String, String> set, List<String> warnings) {
        var query = QUERY.matcher(rest);
        var end = query.find() ? query.start() : rest.length();
        var at = rest.lastIndexOf('@', end); // a query may hold one, too
        var login = at < 0 ? "" : rest.substring(0, at);
        var given = new LinkedHashMap<String, String>();
        for (var pair : rest.substring(Math.min(rest.length(), end + 1)).split("&", -1)) {
            var equals = pair.indexOf('=');
            if (equals > 0) {
                given.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
        }
        if (!login.isEmpty()) {
            var colon = login.indexOf(':');
            given.put("user", colon < 0 ? login : login.substring(0, colon));
            if (colon >= 0) {
                given.put("password", login.substring(colon + 1));
            }
        }
        set.keySet().removeAll(given.keySet());
        var place = place(rest.substring(at + 1, end), set);
        set.keySet().removeAll(PLACES);
        set.forEach((name, value) -> given.put(name, encoded(value)));
        return "jdbc:postgresql://" + place + query(given, warnings);
    }

    /** Returns host, port and database of a URL, with what it leaves out. */
    private static String place(String given, Map<String, String> set) {
        var parts = PLACE.matcher(given);
        if (Collections.disjoint(set.keySet(), PLACES) || !parts.matches()) {
            return given.indexOf('/') < 0 ? given + '/' : given; // else the driver does not take it, and logs it
        }
        var host = either(parts.group(1), set.getOrDefault("host", "localhost"));
        var port = either(parts.group(2), set.getOrDefault("port", "5432"));
        var database = either(parts.group(3), encoded(set.getOrDefault("dbname", "")));
        return host(host) + ':' + port + '/' + database;
    }

    private static String either(@Nullable String given, String other) {
        return given == null || given.isEmpty() ? other : given;
    }

    /** Returns it as the URI has it: an address of IPv6 in brackets. */
    private static String host(String host) {
        if (host.startsWith("/")) {
            throw new UsageException("the host " + host + " is a folder of sockets, which PostgreSQL's driver for Java"
                    + " does not open. Name the host, such as localhost, in dataSource or by PGHOST");
        }
        return host.matches("[^\\[].*:.*") ? '[' + host + ']' : host;
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
