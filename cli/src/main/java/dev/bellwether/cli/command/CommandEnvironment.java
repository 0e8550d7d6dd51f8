package dev.bellwether.cli.command;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The process around a command.
 *
 * @param inIsTerminal whether somebody can be asked
 * @param outIsTerminal whether somebody is looking, so that colours and redrawing make sense
 * @param memoryAllowed whether {@code memory:} is taken for a backend, which only makes sense where all happens in one
 *     process
 */
public record CommandEnvironment(
        Map<String, String> environment,
        BufferedReader in,
        PrintWriter out,
        PrintWriter err,
        boolean inIsTerminal,
        boolean outIsTerminal,
        boolean errIsTerminal,
        boolean memoryAllowed) {

    /** Returns an environment variable, unless it is missing or empty. */
    public Optional<String> variable(String name) {
        return Optional.ofNullable(environment.get(name)).filter(value -> !value.isEmpty());
    }

    /**
     * Returns the folder for what must be found again the next time, wherever the command is called; empty if there is
     * none. Java's name for the home of a user that has none is a question mark.
     */
    Optional<Path> home() {
        return variable("BELLWETHER_HOME")
                .map(Path::of)
                .or(() -> variable("XDG_STATE_HOME").map(state -> Path.of(state, "bellwether")))
                .or(() -> variable("HOME")
                        .or(() -> Optional.ofNullable(System.getProperty("user.home")))
                        .map(user -> Path.of(user, ".local", "state", "bellwether"))
                        .filter(Path::isAbsolute));
    }

    /** Returns whether standard output is a terminal on which something can be drawn in the place of something else. */
    public boolean isRedrawn() {
        return outIsTerminal && !isDumb();
    }

    /** Returns whether standard output takes colours. */
    public boolean colours() {
        return outIsTerminal && coloursWanted();
    }

    /** Returns whether standard error takes colours. */
    public boolean errColours() {
        return errIsTerminal && coloursWanted();
    }

    private boolean coloursWanted() {
        return variable("NO_COLOR").isEmpty() && !isDumb();
    }

    private boolean isDumb() {
        return variable("TERM").orElse("dumb").equals("dumb");
    }

    /** Prints a line for people. Names and messages in it may be what others wrote. */
    public void say(String line) {
        out.println(Text.oneLine(line));
    }

    /** Prints a line for people on standard error. Names and messages in it may be what others wrote. */
    public void complain(String message) {
        err.println("bellwether: " + Text.oneLine(message));
    }

    /** Asks, and returns whether the answer was yes. */
    public boolean confirm(String question) {
        out.print(Text.printable(question) + " [y/N] ");
        out.flush();
        try {
            var answer = in.readLine();
            return answer != null
                    && (answer.strip().equalsIgnoreCase("y") || answer.strip().equalsIgnoreCase("yes"));
        } catch (IOException e) {
            return false; // no answer is no consent
        }
    }
}
