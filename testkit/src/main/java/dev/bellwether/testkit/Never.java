package dev.bellwether.testkit;

/**
 * Marks what must never be: two leaders at once, a token that does not rise, events that do not come in pairs, a
 * process that ends by itself, a record that is lost or out of order.
 *
 * <p>Immutable. A test that fails is tried once more, because a busy machine costs a leader its seat. What carries this
 * mark fails the build even if the test passes the second time. So each check of that kind begins its message with the
 * mark, and no other message has it.
 */
public final class Never {
    /** Begins each such message, and stands in no other. {@code check} looks for it. */
    public static final String MARK = "NEVER: ";

    private Never() {}

    /** Returns this message with the mark; one that has it already stays as it is. */
    public static String mark(String what) {
        return what.startsWith(MARK) ? what : MARK + what;
    }
}
