package dev.bellwether.testkit;

import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Names that find out what a backend forgot to quote, to fold, or to measure. */
final class UnusualNames {
    static final int LONGEST = 200;

    static final List<String> ALL = List.of(
            "Ζυγός 選挙 🐑",
            "l" + "o".repeat(LONGEST - 3) + "ng",
            "🐑".repeat(LONGEST),
            "a/b/c",
            "/",
            ".",
            "..",
            "dots.and-dashes_",
            "with spaces in it",
            "it's \"quoted\"; DROP TABLE x --",
            "100%_like*?",
            "back\\slash",
            "colon:semi;comma,pipe|hash#",
            "<tag>&amp;",
            "null",
            "__consumer_offsets");

    /** Each pair is one name to a backend that folds case or accents, cuts off, or trims. */
    static final List<List<String>> PAIRS = List.of(
            List.of("Billing-", "billing-"),
            List.of("resume-", "résumé-"),
            List.of("é-", "e\u0301-"),
            List.of("straße-", "strasse-"),
            List.of("a.b-", "a_b-"),
            List.of("x".repeat(LONGEST - 9) + "1", "x".repeat(LONGEST - 9) + "2"));

    static final Map<String, String> METADATA = Map.of(
            "zone",
            "eu-1",
            "επαφή",
            "κριός@例え.jp",
            "json",
            "{\"a\": [1, \"two\"]}",
            "empty",
            "",
            "line",
            "one\ntwo\ttab");

    private UnusualNames() {}

    /** Returns a name like it that no earlier run has used, where there is room to make it so. */
    static String unique(String name) {
        if (name.length() < 4) {
            return name; // these are what they are; the test deletes their elections behind it
        }
        var mark = UUID.randomUUID().toString().substring(0, 8);
        var kept = name.codePointCount(0, name.length()) + mark.length() <= LONGEST
                ? name
                : name.substring(0, name.offsetByCodePoints(0, LONGEST - mark.length()));
        return kept + mark;
    }
}
