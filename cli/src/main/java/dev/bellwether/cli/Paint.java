package dev.bellwether.cli;

/** Colours, where they are wanted. Immutable. */
record Paint(boolean on) {

    String good(String text) {
        return paint("32", text);
    }

    String bad(String text) {
        return paint("31", text);
    }

    String faint(String text) {
        return paint("2", text);
    }

    String strong(String text) {
        return paint("1", text);
    }

    private String paint(String code, String text) {
        return on ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
