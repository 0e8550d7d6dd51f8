package dev.bellwether.cli.demo;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** What one can do to the demo. */
enum Action {
    KILL('k', "kill it (kill -9)"),
    FREEZE('f', "freeze it"),
    THAW('t', "wake a frozen one"),
    CUT('c', "cut off its network"),
    CUT_REQUESTS('o', "lose what it sends"),
    CUT_ANSWERS('a', "lose what is sent to it"),
    HEAL('h', "reconnect its network"),
    SLOW('s', "slow its network"),
    RESIGN('r', "ask it to hand over"),
    START('n', "start one that is dead, or another"),
    KILL_SERVER('b', "kill the server (kill -9)"),
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
