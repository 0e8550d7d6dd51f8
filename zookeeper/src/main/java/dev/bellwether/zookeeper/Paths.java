package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Where things stand: {@code root/election/le_0000000042}, {@code root/election/DONE},
 * {@code root/election/stand_down}, {@code root/election/successor}. Immutable.
 *
 * @param root the parent of all elections; empty for the root of the server or chroot
 */
record Paths(String root) {
    /** The name of a candidate's node without its number. */
    static final String CANDIDATE = "le_";
    /** While there is a node of this name, nobody may join. */
    static final String DONE = "DONE";
    /**
     * Holds the name of the node whose candidate is to stand down. Sorts behind the candidates: the original takes the
     * first.
     */
    static final String STAND_DOWN = "stand_down";

    /** Holds the note of a hand-over. Sorts behind the candidates, too. */
    static final String HAND_OVER = "successor";

    private static final Pattern CANDIDATE_NODE = Pattern.compile("le_(-\\d{9,10}|\\d{10})");
    /**
     * A million before their end. Behind that a server gives a number twice, or goes on with the lowest, before which
     * the leader's would stand.
     */
    private static final long LAST_NUMBER = Integer.MAX_VALUE - (1 << 20);

    Paths {
        if (!root.isEmpty()) {
            check(root);
        }
    }

    private static void check(String root) {
        try {
            org.apache.zookeeper.common.PathUtils.validatePath(root);
        } catch (IllegalArgumentException e) {
            throw new ElectionException("the root path \"" + root + "\" is none: " + e.getMessage(), e);
        }
    }

    String election(String name) {
        return root + '/' + encode(name);
    }

    /** Returns the path that lists the elections. */
    String parent() {
        return root.isEmpty() ? "/" : root;
    }

    /** Returns the nodes of candidates among these children, in the order in which they joined. */
    static List<String> queue(List<String> children) {
        return children.stream()
                .filter(child -> CANDIDATE_NODE.matcher(child).matches())
                .sorted(Comparator.comparingLong(Paths::number))
                .toList();
    }

    private static long number(String node) {
        return Long.parseLong(node.substring(CANDIDATE.length()));
    }

    /** Returns whether the numbers of an election's nodes are used up, as that of this one shows. */
    static boolean isUsedUp(String node) {
        return number(node) < 0 || number(node) > LAST_NUMBER;
    }

    /** Returns whether this candidate's node stands before that one; false if either is none. */
    static boolean isBefore(String node, String other) {
        return CANDIDATE_NODE.matcher(node).matches()
                && CANDIDATE_NODE.matcher(other).matches()
                && number(node) < number(other);
    }

    /** Returns the children that are none of ours. */
    static List<String> foreign(List<String> children) {
        return children.stream()
                .filter(child -> !CANDIDATE_NODE.matcher(child).matches()
                        && !child.equals(DONE)
                        && !child.equals(STAND_DOWN)
                        && !child.equals(HAND_OVER))
                .toList();
    }

    /**
     * Returns a name as that of a node: letters and digits of all alphabets, and a few signs, as they are; everything
     * else in percent signs, as in a URI, since slashes, dots, controls and characters beyond the basic plane are not
     * for names of nodes.
     */
    static String encode(String name) {
        var onlyDots = name.chars().allMatch(c -> c == '.');
        var encoded = new StringBuilder();
        for (var i = 0; i < name.length(); i += Character.charCount(name.codePointAt(i))) {
            var c = name.codePointAt(i);
            var plain = c < 0xd800
                    && (Character.isLetterOrDigit(c) || "-_:+@=, ".indexOf(c) >= 0 || (c == '.' && !onlyDots));
            if (plain && !isReserved(name)) {
                encoded.appendCodePoint(c);
            } else {
                for (var b : Character.toString(c).getBytes(StandardCharsets.UTF_8)) {
                    encoded.append('%').append("%02X".formatted(b & 0xff));
                }
            }
        }
        return encoded.toString();
    }

    /** The server keeps its own things there. */
    private static boolean isReserved(String name) {
        return name.equals("zookeeper");
    }

    /** Returns the name of which this is the encoding; of a node that is none, its own name. */
    static String decode(String node) {
        var bytes = new ByteArrayOutputStream();
        for (var i = 0; i < node.length(); i++) {
            var c = node.charAt(i);
            if (c == '%' && i + 2 < node.length() && isHex(node.charAt(i + 1)) && isHex(node.charAt(i + 2))) {
                bytes.write(Integer.parseInt(node.substring(i + 1, i + 3), 16));
                i += 2;
            } else {
                bytes.writeBytes(Character.toString(c).getBytes(StandardCharsets.UTF_8));
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static boolean isHex(char c) {
        return Character.digit(c, 16) >= 0 && c < 128;
    }
}
