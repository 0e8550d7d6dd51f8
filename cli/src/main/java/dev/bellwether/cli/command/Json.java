package dev.bellwether.cli.command;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import dev.bellwether.Candidate;
import dev.bellwether.Leader;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Writes one JSON document on one line, in ASCII: the charset of standard output is that of the locale. */
public final class Json {
    private static final JsonFactory FACTORY =
            JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    /** What goes into a document. */
    public interface Content {
        void writeTo(JsonGenerator json) throws IOException;
    }

    private Json() {}

    /** Returns an object with this content. */
    public static String object(Content content) {
        var text = new StringWriter();
        try (var json = FACTORY.createGenerator(text)) {
            json.writeStartObject();
            content.writeTo(json);
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a StringWriter throws none
        }
        return text.toString();
    }

    /** Writes the field {@code leader}: an object, or null while nobody leads. */
    public static void leader(JsonGenerator json, Optional<Leader> leader) throws IOException {
        if (leader.isEmpty()) {
            json.writeNullField("leader");
            return;
        }
        var one = leader.get();
        json.writeObjectFieldStart("leader");
        json.writeStringField("candidate", one.candidate());
        json.writeNumberField("token", one.token());
        json.writeStringField("since", one.since().toString());
        metadata(json, one.metadata());
        json.writeEndObject();
    }

    /** Writes an element of an array of candidates. */
    public static void candidate(JsonGenerator json, Candidate candidate) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", candidate.id());
        json.writeNumberField("priority", candidate.priority());
        json.writeBooleanField("leads", candidate.leads());
        if (candidate.heard().isPresent()) {
            json.writeStringField("heard", candidate.heard().get().toString());
        }
        metadata(json, candidate.metadata());
        json.writeEndObject();
    }

    private static void metadata(JsonGenerator json, Map<String, String> metadata) throws IOException {
        json.writeObjectFieldStart("metadata");
        for (var entry : new TreeMap<>(metadata).entrySet()) {
            json.writeStringField(entry.getKey(), entry.getValue());
        }
        json.writeEndObject();
    }
}
