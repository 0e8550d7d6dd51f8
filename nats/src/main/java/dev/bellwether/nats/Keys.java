package dev.bellwether.nats;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Names as keys of a bucket: one token for each.
 *
 * <p>What a key may not hold stands as {@code =} and two hexadecimal digits for each byte of UTF-8; the dot, too, since
 * it separates tokens.
 */
final class Keys {
    private static final String HEX = "0123456789ABCDEF";

    private Keys() {}

    /** Returns the key of these names: one token for each. */
    static String of(List<String> names) {
        return names.stream().map(Keys::token).collect(Collectors.joining("."));
    }

    /** Returns the names of a key; empty if it is no key of ours. */
    static Optional<List<String>> parts(String key) {
        var names = new ArrayList<String>();
        for (var token : key.split("\\.", -1)) {
            var name = name(token);
            if (name.isEmpty()) {
                return Optional.empty();
            }
            names.add(name.get());
        }
        return Optional.of(names);
    }

    private static String token(String name) {
        var token = new StringBuilder();
        for (var b : name.getBytes(StandardCharsets.UTF_8)) {
            if (isPlain(b)) {
                token.append((char) b);
            } else {
                token.append('=').append(HEX.charAt((b >> 4) & 15)).append(HEX.charAt(b & 15));
            }
        }
        return token.toString();
    }

    private static Optional<String> name(String token) {
        var bytes = new ByteArrayOutputStream();
        for (var i = 0; i < token.length(); i++) {
            var c = token.charAt(i);
            if (c == '=') {
                var high = i + 2 < token.length() ? HEX.indexOf(token.charAt(i + 1)) : -1;
                var low = high < 0 ? -1 : HEX.indexOf(token.charAt(i + 2));
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
