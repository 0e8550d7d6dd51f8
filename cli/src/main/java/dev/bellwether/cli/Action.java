package dev.bellwether.cli;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** What one can do to the demo. */
enum Action {
    KILL('k', "kill -9"),
    FREEZE('f', "freeze"),
    THAW('t', "thaw"),
    CUT('c', "cut off"),
    CUT_REQUESTS('o', "cut off one way: nothing it says arrives"),
    CUT_ANSWERS('a', "cut off one way: nothing arrives at it"),
    HEAL('h', "heal its network"),
    SLOW('s', "slow its network"),
    RESIGN('r', "ask to resign"),
    START('n', "start one"),
    KILL_SERVER('b', "kill -9 the server"),
    START_SERVER('g', "start the server");

    private final char key;
    private final String words;

    Action(char key, String words) {
        this.key = key;
        this.words = words;
    }

    char key() {
        return key;
    }

    String words() {
        return words;
    }

    boolean needsNetwork() {
        return switch (this) {
            case CUT, CUT_REQUESTS, CUT_ANSWERS, HEAL, SLOW -> true;
            case KILL, FREEZE, THAW, RESIGN, START, KILL_SERVER, START_SERVER -> false;
        };
    }

    /** Returns its name on the wire. */
    String id() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static Optional<Action> of(String id) {
        return Arrays.stream(values()).filter(one -> one.id().equals(id)).findFirst();
    }

    static Optional<Action> of(char key) {
        return Arrays.stream(values()).filter(one -> one.key == key).findFirst();
    }
}
