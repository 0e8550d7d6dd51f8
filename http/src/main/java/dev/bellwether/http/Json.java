package dev.bellwether.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What was answered: a map, a list, or a text. What is not there is empty or 0. Immutable.
 *
 * @param value a map, a list or a text
 */
public record Json(Object value) {
    private static final JsonFactory FACTORY = new JsonFactory();

    /**
     * Parses a text.
     *
     * @throws UncheckedIOException if it is no JSON
     */
    public static Json parse(String text) {
        try (var parser = FACTORY.createParser(text)) {
            parser.nextToken();
            return new Json(read(parser));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Object read(JsonParser parser) throws IOException {
        if (parser.currentToken() == JsonToken.START_OBJECT) {
            var map = new HashMap<String, Object>();
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                var name = parser.currentName();
                parser.nextToken();
                map.put(name, read(parser));
            }
            return map;
        }
        if (parser.currentToken() == JsonToken.START_ARRAY) {
            var list = new ArrayList<Object>();
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                list.add(read(parser));
            }
            return list;
        }
        return parser.currentToken() == JsonToken.VALUE_NULL ? "" : String.valueOf(parser.getText());
    }

    /** Returns what stands under a name; an empty text, if nothing does. */
    public Json at(String name) {
        var found = value instanceof Map<?, ?> map ? map.get(name) : null;
        return new Json(found == null ? "" : found);
    }

    /** Returns the parts of a list under a name. */
    public List<Json> list(String name) {
        return at(name).items();
    }

    /** Returns the parts of a list; none, if it is none. */
    public List<Json> items() {
        return value instanceof List<?> list
                ? list.stream().<Json>map(Json::new).toList()
                : List.of();
    }

    /** Returns the texts of a list; none, if it is none. */
    public List<String> texts() {
        return value instanceof List<?> list
                ? list.stream().map(String::valueOf).toList()
                : List.of();
    }

    /** Returns the text under a name; empty if there is none. */
    public String text(String name) {
        return at(name).value instanceof String text ? text : "";
    }

    /** Returns whether {@code true} stands under a name. */
    public boolean flag(String name) {
        return text(name).equals("true");
    }

    /** Returns a number, which may be written as a text. */
    public long number(String name) {
        var text = text(name);
        return text.matches("-?[0-9]{1,18}") ? Long.parseLong(text) : 0;
    }
}
