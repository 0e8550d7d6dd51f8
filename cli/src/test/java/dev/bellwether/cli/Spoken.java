package dev.bellwether.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.bellwether.cli.command.CommandEnvironment;
import java.io.BufferedReader;
import java.io.PrintWriter;
import java.io.Reader;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.Writer;
import java.util.Map;

/** What the command said, run in this process, where {@code memory:} makes sense. */
public record Spoken(int code, String out, String err) {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static Spoken of(Map<String, String> environment, String... args) {
        return on(false, "", environment, args);
    }

    public static Spoken onTerminal(String typed, Map<String, String> environment, String... args) {
        return on(true, typed, environment, args);
    }

    /** The same on a terminal, with standard error elsewhere, as by {@code 2>log}. */
    static Spoken onTerminalButForErrors(Map<String, String> environment, String... args) {
        var out = new StringWriter();
        var err = new StringWriter();
        var code = Main.run(around(true, false, "", environment, out, err), args);
        return new Spoken(code, out.toString(), err.toString());
    }

    private static Spoken on(boolean terminal, String typed, Map<String, String> environment, String... args) {
        var out = new StringWriter();
        var err = new StringWriter();
        var code = Main.run(around(terminal, typed, environment, out, err), args);
        return new Spoken(code, out.toString(), err.toString());
    }

    /** Runs a command that says what it says meanwhile; returns its code. */
    public static int into(StringWriter out, StringWriter err, String... args) {
        return Main.run(around(false, "", Map.of(), out, err), args);
    }

    /** The same on a thread of its own, which has begun. */
    public static Thread inBackground(StringWriter out, StringWriter err, String... args) {
        var thread = new Thread(() -> into(out, err, args));
        thread.start();
        return thread;
    }

    /** The same on a terminal; what it complains of comes with the rest. */
    static int onTerminalInto(StringWriter out, Map<String, String> environment, String... args) {
        return Main.run(around(true, "", environment, out, out), args);
    }

    private static CommandEnvironment around(
            boolean terminal, String typed, Map<String, String> environment, StringWriter out, StringWriter err) {
        return around(terminal, terminal, typed, environment, out, err);
    }

    private static CommandEnvironment around(
            boolean terminal,
            boolean errTerminal,
            String typed,
            Map<String, String> environment,
            StringWriter out,
            StringWriter err) {
        return new CommandEnvironment(
                environment,
                new BufferedReader(new StringReader(typed)),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                terminal,
                terminal,
                errTerminal,
                true);
    }

    /** Returns surroundings for a command that is not run. */
    static CommandEnvironment around() {
        return new CommandEnvironment(
                Map.of(),
                new BufferedReader(Reader.nullReader()),
                new PrintWriter(Writer.nullWriter()),
                new PrintWriter(Writer.nullWriter()),
                false,
                false,
                false,
                true);
    }

    public JsonNode json() {
        try {
            return JSON.readTree(out);
        } catch (JsonProcessingException e) {
            throw new AssertionError("no JSON: " + out, e);
        }
    }

    public String all() {
        return out + err;
    }
}
