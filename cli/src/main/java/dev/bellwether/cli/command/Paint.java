package dev.bellwether.cli.command;

/** Colours, where they are wanted. Immutable. */
public record Paint(boolean on) {

    public String good(String text) {
        return paint("32", text);
    }

    public String bad(String text) {
        return paint("31", text);
    }

    public String faint(String text) {
        return paint("2", text);
    }

    public String strong(String text) {
        return paint("1", text);
    }

    private String paint(String code, String text) {
        return on ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
