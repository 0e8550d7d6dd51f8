package dev.bellwether.nats;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Optional;

/**
 * The names of elections and candidates as keys of a bucket: one token for an election, three for a candidate of it.
 *
 * <p>What a key may not hold stands as {@code =} and two hexadecimal digits for each byte of UTF-8; the dot, too, since it
 * separates tokens.
 */
final class Keys {
    private static final String HEX = "0123456789ABCDEF";

    private Keys() {}

    /** Returns the key of an election. */
    static String of(String election) {
        var key = new StringBuilder();
        for (var b : election.getBytes(StandardCharsets.UTF_8)) {
            if (isPlain(b)) {
                key.append((char) b);
            } else {
                key.append('=').append(HEX.charAt((b >> 4) & 15)).append(HEX.charAt(b & 15));
            }
        }
        return key.toString();
    }

    /** Returns the election of a key, or empty if it is no key of an election. */
    static Optional<String> election(String key) {
        var bytes = new ByteArrayOutputStream();
        for (var i = 0; i < key.length(); i++) {
            var c = key.charAt(i);
            if (c == '=') {
                var high = i + 2 < key.length() ? HEX.indexOf(key.charAt(i + 1)) : -1;
                var low = high < 0 ? -1 : HEX.indexOf(key.charAt(i + 2));
                if (low < 0) {
                    return Optional.empty();
                }
                bytes.write(high * 16 + low);
                i += 2;
            } else if (c < 128 && isPlain((byte) c)) {
                bytes.write(c);
            } else {
                return Optional.empty();
            }
        }
        try {
            return Optional.of(StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes.toByteArray()))
                    .toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }

    /** Returns the key under which a candidate is listed. Its priority stands in it, so that a list of keys tells the highest. */
    static String candidate(String election, String candidate, int priority) {
        try {
            var digest = MessageDigest.getInstance("SHA-256").digest(candidate.getBytes(StandardCharsets.UTF_8));
            var name = Base64.getUrlEncoder()
                    .withoutPadding()
                    .encodeToString(digest)
                    .substring(0, 22);
            return of(election) + '.' + priority + '.' + name;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    /** Returns the priority that stands in the key of a candidate. */
    static int priority(String key) {
        var first = key.indexOf('.');
        var second = key.indexOf('.', first + 1);
        try {
            return Integer.parseInt(key.substring(first + 1, second));
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            return Integer.MIN_VALUE; // not one of ours
        }
    }

    /** Returns whether a name can be a key as it stands, as others expect who know nothing of our escapes. */
    static boolean isKey(String name) {
        return name.matches("[-/_=.a-zA-Z0-9]+")
                && !name.startsWith(".")
                && !name.endsWith(".")
                && !name.contains("..");
    }

    private static boolean isPlain(byte b) {
        return (b >= 'a' && b <= 'z')
                || (b >= 'A' && b <= 'Z')
                || (b >= '0' && b <= '9')
                || b == '-'
                || b == '_'
                || b == '/';
    }
}
