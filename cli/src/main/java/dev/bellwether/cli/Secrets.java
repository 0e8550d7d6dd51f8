package dev.bellwether.cli;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Takes secrets out of messages: those of every URI that the command line, BELLWETHER_ON or BELLWETHER_OUTBOX may hold,
 * wherever it stands, since somebody who forgets {@code --on} has typed the password anyway. Not thread-safe.
 */
final class Secrets {
    private static final String HIDDEN = "***";
    /** The path of a file, and no beginning of a URI that somebody left out. */
    private static final Pattern PATH = Pattern.compile("(?:~|\\.{1,2})?/[^/:][^:]*", Pattern.DOTALL);
    /** A file whose text stands in a URI. */
    private static final Pattern CONTENT = Pattern.compile("\\$\\{file:([^}]*)\\}");
    /** A database in a file, which has no user. */
    private static final Pattern FILE = Pattern.compile("(?i)\\s*jdbc:(?:sqlite|h2):(?!.*//).*", Pattern.DOTALL);

    /** Looked into when there is something to hide, and not before: a file that a URI names may be a pipe. */
    private final List<String> texts = new ArrayList<>();

    private final List<ConnectUri> uris = new ArrayList<>();
    private final List<String> suspects = new ArrayList<>();

    Secrets(List<String> arguments, Map<String, String> environment) {
        for (var argument : arguments) {
            add(argument);
            if (argument.startsWith("-") && argument.indexOf('=') > 0) {
                add(argument.substring(argument.indexOf('=') + 1));
            }
        }
        add(environment.getOrDefault("BELLWETHER_ON", ""));
        add(environment.getOrDefault("BELLWETHER_OUTBOX", ""));
    }

    /** Returns the message without secrets. */
    String hide(String message) {
        texts.forEach(this::learn);
        texts.clear();
        var hidden = message;
        for (var text : suspects) {
            hidden = hidden.replace(text, text.substring(0, text.indexOf(':') + 1) + HIDDEN);
        }
        for (var uri : uris) {
            hidden = uri.redact(hidden);
        }
        return hidden;
    }

    /** Takes the secrets of this out, too, if it may be a URI. */
    void add(String text) {
        texts.add(text);
    }

    private void learn(String text) {
        if ((text.indexOf(':') < 0 && text.indexOf('@') < 0)
                || PATH.matcher(text).matches()) {
            return;
        }
        if (isReadOnce(text)) {
            suspects.add(text);
            return;
        }
        var harmless = false;
        try {
            var uri = ConnectUri.parse(text);
            uris.add(uri);
            harmless = (text.indexOf('@') < 0 || FILE.matcher(text).matches())
                    && uri.toString().equals(text.strip()); // nothing in it is to be hidden
        } catch (ElectionException e) {
            suspects.add(text); // it cannot be taken apart
        }
        if (!harmless && (text.indexOf('@') >= 0 || text.indexOf('=') >= 0)) {
            suspects.add(text); // quoted as it was typed, it may show a secret in a place where nobody expects one
        }
    }

    /** Returns whether part of this comes by a pipe: it was read before, and to open it again may wait forever. */
    private static boolean isReadOnce(String text) {
        return CONTENT.matcher(text).results().anyMatch(file -> {
            try {
                var path = Path.of(file.group(1));
                return Files.exists(path) && !Files.isRegularFile(path);
            } catch (InvalidPathException e) {
                return false; // told when it is parsed
            }
        });
    }
}
