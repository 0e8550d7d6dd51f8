package dev.bellwether.sql;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/** Where connections come from. Thread-safe. */
final class Source {
    private static final String POSTGRES = "jdbc:postgresql:";
    private static final String SQLITE = "jdbc:sqlite:";
    private static final Duration START_PATIENCE = Duration.ofSeconds(5);
    /** A file is opened by one after the other, and each may have to wait for the disk. */
    private static final Duration FILE_START_PATIENCE = Duration.ofSeconds(30);
    /** What a driver should do unless the URI says otherwise: give up in time, and keep what was committed. */
    private static final Map<String, Map<String, String>> DRIVER_DEFAULTS = Map.of(
            POSTGRES,
            Map.of(
                    "connectTimeout",
                    "3",
                    "socketTimeout",
                    "5",
                    "tcpKeepAlive",
                    "true",
                    "ApplicationName",
                    "bellwether",
                    // of several hosts, a standby may become the primary at any time
                    "hostRecheckSeconds",
                    "1"),
            "jdbc:mariadb:",
            Map.of(
                    "connectTimeout", "3000",
                    "socketTimeout", "5000",
                    "tcpKeepAlive", "true"),
            "jdbc:mysql:",
            Map.of("connectTimeout", "3000", "socketTimeout", "5000", "tcpKeepAlive", "true"),
            "jdbc:h2:",
            Map.of(
                    "WRITE_DELAY", "0", // else what was committed is written half a second later
                    "NETWORK_TIMEOUT", "5000"), // its connections keep to no limit that they are given later
            SQLITE,
            // a token that was handed out must not be forgotten when the power fails, therefore FULL
            Map.of("journal_mode", "WAL", "synchronous", "FULL", "busy_timeout", "20"));

    private static final Map<String, String> ARTIFACTS = Map.of(
            POSTGRES,
            "org.postgresql:postgresql",
            "jdbc:mariadb:",
            "org.mariadb.jdbc:mariadb-java-client",
            "jdbc:mysql:",
            "com.mysql:mysql-connector-j",
            "jdbc:h2:",
            "com.h2database:h2",
            SQLITE,
            "org.xerial:sqlite-jdbc");

    private static final Pattern HOSTS = Pattern.compile(
            "(?s)(?<driver>jdbc:(?:postgresql|mariadb|mysql):)(?:[a-z-]+:)?//(?<hosts>[^/?]+)(?<rest>.*)");

    /** What PostgreSQL's driver takes for an address. Of anything else it logs a part, or all, with the password. */
    private static final Pattern POSTGRES_ADDRESS =
            Pattern.compile("(?s)jdbc:postgresql:(?:///?|//[^/?@]*/[^/?]*|(?!/)[^?]*)(?:\\?.*)?");

    /** Anything else in place of a node is part of a form that not all drivers know, or of a password. */
    private static final Pattern NODE = Pattern.compile("(?:[^\\[\\]():]+|\\[[^\\[\\]]+])(?::\\d+)?");

    private final Opener opener;
    private final Duration startPatience;
    private final boolean ours;
    private final String shown;
    private final UnaryOperator<String> redactor;
    private final List<Node> nodes;

    private Source(
            Opener opener,
            Duration startPatience,
            boolean ours,
            String shown,
            UnaryOperator<String> redactor,
            List<Node> nodes) {
        this.nodes = nodes;
        this.opener = opener;
        this.startPatience = startPatience;
        this.ours = ours;
        this.shown = shown;
        this.redactor = redactor;
    }

    private interface Opener {
        Connection open(Duration patience) throws SQLException;
    }

    /** The user's own. What is borrowed is given back after use. */
    static Source of(DataSource dataSource) {
        return new Source(
                patience -> borrow(dataSource),
                START_PATIENCE,
                false,
                "the database of " + dataSource.getClass().getName(),
                m -> m,
                List.of());
    }

    /** One that chooses among others, or is closed, throws what it likes: there is no connection, whatever it says. */
    private static Connection borrow(DataSource dataSource) throws SQLException {
        try {
            return dataSource.getConnection();
        } catch (RuntimeException e) {
            throw new SQLException(e.toString(), "08001", e);
        }
    }

    /** Connections that are ours to keep, to what a URI names. */
    static Source of(ConnectUri uri) {
        var jdbc = jdbc(uri.forDriver());
        var driver = driverOf(jdbc);
        var properties = new Properties();
        DRIVER_DEFAULTS.getOrDefault(driver, Map.of()).forEach((name, value) -> {
            if (!names(jdbc, name)) {
                properties.setProperty(name, value);
            }
        });
        uri.filled().entrySet().stream()
                .filter(each -> !each.getKey().startsWith(SqlConfig.PREFIX))
                .forEach(each -> properties.setProperty(each.getKey(), each.getValue()));
        requireAddress(jdbc, driver, uri);
        requireDriver(jdbc, driver, uri);
        var prepares = names(jdbc, "prepareThreshold");
        Opener server = patience -> {
            var opened = DriverManager.getConnection(jdbc, properties);
            return driver.equals(POSTGRES) ? Pooler.settled(opened, prepares) : opened;
        };
        Opener file = patience -> BusyFile.untilFree(patience, () -> server.open(patience));
        var isFile = driver.equals(SQLITE);
        return new Source(
                isFile ? file : server,
                isFile ? FILE_START_PATIENCE : START_PATIENCE,
                true,
                uri.toString(),
                uri::redact,
                nodes(jdbc, properties));
    }

    /** One of the servers that an address names. */
    record Node(String name, String jdbc, Properties properties) {
        Connection open() throws SQLException {
            return DriverManager.getConnection(jdbc, properties);
        }

        @Override
        public String toString() {
            return name; // the rest may hold secrets
        }
    }

    private static List<Node> nodes(String jdbc, Properties properties) {
        var address = HOSTS.matcher(jdbc);
        if (!address.matches() || !address.group("hosts").contains(",")) {
            return List.of();
        }
        var rest = address.group("rest").replaceAll("(?i)(?<=[?&])(targetServerType|loadBalanceHosts)=[^&]*&?", "");
        var nodes = Arrays.stream(address.group("hosts").split(","))
                .map(host -> new Node(
                        host.substring(host.lastIndexOf('@') + 1), // what is before may be a password
                        address.group("driver") + "//" + host + rest,
                        properties))
                .toList();
        return nodes.stream().allMatch(node -> NODE.matcher(node.name).matches()) ? nodes : List.of();
    }

    /** Returns the servers that the address names, if it names several. */
    List<Node> nodes() {
        return nodes;
    }

    /** Opens one, and waits so long for a file that is locked; how long for a server is the driver's business. */
    Connection open(Duration patience) throws SQLException {
        return opener.open(patience);
    }

    /** Returns how long to wait for an answer at the beginning. */
    Duration startPatience() {
        return startPatience;
    }

    /** Whether a connection may be kept between uses. */
    boolean isOurs() {
        return ours;
    }

    /** Returns a message without the secrets of the URI. */
    String redact(String message) {
        return redactor.apply(message);
    }

    /** Names the database, without secrets. */
    @Override
    public String toString() {
        return shown;
    }

    /** Leaves our own parameters out. */
    static String jdbc(String uri) {
        var query = uri.indexOf('?');
        if (query < 0) {
            return uri;
        }
        var rest = Arrays.stream(uri.substring(query + 1).split("&", -1))
                .filter(pair -> !pair.startsWith(SqlConfig.PREFIX))
                .collect(Collectors.joining("&"));
        return uri.substring(0, query) + (rest.isEmpty() ? "" : "?" + rest);
    }

    /** Whether the URI sets this itself, in any driver's way of writing. */
    private static boolean names(String jdbc, String parameter) {
        return jdbc.toLowerCase(Locale.ROOT).matches("(?s).*[?&;]" + parameter.toLowerCase(Locale.ROOT) + "=.*");
    }

    private static String driverOf(String jdbc) {
        return jdbc.substring(0, jdbc.indexOf(':', "jdbc:".length()) + 1);
    }

    private static void requireAddress(String jdbc, String driver, ConnectUri uri) {
        if (driver.equals(POSTGRES) && !POSTGRES_ADDRESS.matcher(jdbc).matches()) {
            throw new ElectionException("PostgreSQL's driver does not take " + uri
                    + ". Write jdbc:postgresql://host:port/database, and user and password after that:"
                    + " ?user=NAME&password=PASSWORD");
        }
    }

    private static void requireDriver(String jdbc, String driver, ConnectUri uri) {
        try {
            DriverManager.getDriver(jdbc);
        } catch (SQLException e) {
            var artifact = ARTIFACTS.get(driver);
            throw new ElectionException("no driver for " + uri + ": "
                    + (artifact == null
                            ? "it must begin with one of "
                                    + String.join(
                                            ", ",
                                            ARTIFACTS.keySet().stream().sorted().toList())
                            : "add " + artifact + " to the class path"));
        }
    }
}
