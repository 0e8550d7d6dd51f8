package dev.bellwether.cli.outbox;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.regex.Pattern;

/** How Go's driver names a PostgreSQL: pairs, or a URL without a {@code jdbc:} before it. */
final class GoDataSource {
    /** A name before another pair has no value, as in the original's own default: {@code password= dbname=postgres}. */
    private static final Pattern PAIR =
            Pattern.compile("(\\w+)\\s*=(?!\\s+\\w+\\s*=)\\s*(?:'((?:[^'\\\\]|\\\\.)*)'|(\\S*))");

    private GoDataSource() {}

    static String jdbc(String source) {
        if (source.startsWith("jdbc:")) {
            return source;
        }
        if (source.startsWith("postgres://") || source.startsWith("postgresql://")) {
            return fromUrl(source.substring(source.indexOf("://") + 3));
        }
        var pairs = new LinkedHashMap<String, String>();
        var matcher = PAIR.matcher(source);
        while (matcher.find()) {
            var value = matcher.group(2) != null ? matcher.group(2).replaceAll("\\\\(.)", "$1") : matcher.group(3);
            if (!value.isEmpty()) {
                pairs.put(matcher.group(1), value);
            }
        }
        var host = pairs.getOrDefault("host", "localhost") + ":" + pairs.getOrDefault("port", "5432");
        var database = pairs.getOrDefault("dbname", pairs.getOrDefault("user", "postgres"));
        pairs.keySet().removeAll(java.util.List.of("host", "port", "dbname"));
        var parameters = new ArrayList<String>();
        pairs.forEach((name, value) ->
                parameters.add((name.equals("connect_timeout") ? "connectTimeout" : name) + "=" + encoded(value)));
        return "jdbc:postgresql://" + host + "/" + encoded(database)
                + (parameters.isEmpty() ? "" : "?" + String.join("&", parameters));
    }

    private static String fromUrl(String rest) {
        var at = rest.lastIndexOf('@');
        var login = at < 0 ? "" : rest.substring(0, at);
        var place = rest.substring(at + 1);
        if (login.isEmpty()) {
            return "jdbc:postgresql://" + place;
        }
        var colon = login.indexOf(':');
        var user = colon < 0 ? login : login.substring(0, colon);
        var parameters = "user=" + user + (colon < 0 ? "" : "&password=" + login.substring(colon + 1));
        return "jdbc:postgresql://" + place + (place.contains("?") ? "&" : "?") + parameters;
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
