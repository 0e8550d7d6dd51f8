package dev.bellwether.testkit.sim;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A text that is equal for two states of machines if all their fields are, however deep; and what is drawn by chance
 * (nonces, stamps) is called by the order in which it occurs. Confined to one thread.
 *
 * <p>What a stage that is not complete will call cannot be seen: whoever explores has to add what it is waiting for.
 */
final class StateText {
    private static final Pattern DRAWN =
            Pattern.compile("stamp\\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-(\\w+)\\.[0-9a-f]+)?");
    /** They decide nothing: figures, logs, locks, and the parts of the exploration itself. */
    private static final Set<String> LEFT_OUT = Set.of(
            "FlightLog", "LossLog", "OutageLog", "QuietMetrics", "CandidacyConfig", "ElectionsConfig", "RecordTraits");

    private static final Map<Class<?>, Shape> SHAPES = new HashMap<>();
    /** Where something begins that was drawn by chance, and ends. */
    private static final char BEGIN = '\u0001';

    private static final char END = '\u0002';

    private final StringBuilder text = new StringBuilder(8_192);
    private final IdentityHashMap<Object, Integer> met = new IdentityHashMap<>();

    /** What of an object is written: its type, and these fields. */
    private record Shape(String name, List<Field> fields) {
        static Shape of(Class<?> type) {
            var isLeftOut = !type.getName().startsWith("dev.bellwether.")
                    || type.getName().contains("ChosenWorld")
                    || LEFT_OUT.contains(type.getSimpleName());
            return new Shape(type.getName(), isLeftOut ? List.of() : StateText.fields(type));
        }
    }

    void add(@Nullable Object... values) {
        for (var value : values) {
            if (value instanceof String string) {
                putText(string, text);
            } else {
                text.append(value);
            }
            text.append(' ');
        }
    }

    /** Adds an object, and whatever it refers to. */
    void graph(@Nullable Object root) {
        put(root, text);
        text.append('\n');
    }

    private void put(@Nullable Object value, StringBuilder to) {
        if (value == null) {
            to.append('-');
        } else if (value instanceof CharSequence || value instanceof UUID) {
            putText(value.toString(), to);
        } else if (value instanceof Number
                || value instanceof Boolean
                || value instanceof Enum<?>
                || value instanceof TemporalAmount
                || value instanceof TemporalAccessor
                || value instanceof AtomicBoolean) {
            to.append(value);
        } else if (met.containsKey(value)) {
            to.append('#').append(met.get(value));
        } else {
            met.put(value, met.size());
            if (value instanceof Collection<?> all) {
                putAll(all, value instanceof Set<?>, to);
            } else if (value instanceof Map<?, ?> map) {
                var entries = new ArrayList<Object>();
                map.forEach((key, each) -> entries.add(Arrays.asList(key, each)));
                putAll(entries, true, to);
            } else if (value instanceof Object[] array) {
                putAll(Arrays.asList(array), false, to);
            } else if (value instanceof Optional<?> optional) {
                put(optional.orElse(null), to);
            } else if (value instanceof AtomicReference<?> reference) {
                put(reference.get(), to);
            } else if (value instanceof CompletableFuture<?> stage) {
                to.append(stage.isDone() ? stage.isCompletedExceptionally() ? "failed" : "done" : "open");
            } else {
                putFields(value, to);
            }
        }
    }

    /** Marks what was drawn by chance. */
    private static void putText(String value, StringBuilder to) {
        if (value.indexOf('-') < 0 && !value.contains("stamp")) {
            to.append(value);
            return;
        }
        var told = 0;
        for (var drawn = DRAWN.matcher(value); drawn.find(); told = drawn.end()) {
            to.append(value, told, drawn.start())
                    .append(BEGIN)
                    .append(drawn.group())
                    .append(END);
            if (drawn.group(1) != null) {
                to.append('-').append(drawn.group(1)); // the attempt, which is counted
            }
        }
        to.append(value, told, value.length());
    }

    private void putAll(Collection<?> all, boolean sorted, StringBuilder to) {
        var parts = new ArrayList<String>();
        for (var each : all) {
            var part = new StringBuilder();
            put(each, part);
            parts.add(part.toString());
        }
        if (sorted) {
            if (parts.size() > 1) {
                parts.sort(Comparator.comparing(part -> named(part, drawn -> "?")));
            }
        }
        to.append(parts);
    }

    private void putFields(Object value, StringBuilder to) {
        var shape = SHAPES.computeIfAbsent(value.getClass(), Shape::of);
        to.append(shape.name).append('{');
        for (var field : shape.fields) {
            try {
                put(field.get(value), to);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException("cannot see " + field, e);
            }
            to.append(',');
        }
        to.append('}');
    }

    private static List<Field> fields(Class<?> type) {
        var all = new ArrayList<Field>();
        for (Class<?> each = type; each != null && !each.equals(Object.class); each = each.getSuperclass()) {
            if (each.getName().startsWith("dev.bellwether.")) {
                for (var field : each.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())) {
                        field.setAccessible(true);
                        all.add(field);
                    }
                }
            }
        }
        return Collections.unmodifiableList(all);
    }

    @Override
    public String toString() {
        var names = new HashMap<String, String>();
        return named(text, drawn -> names.computeIfAbsent(drawn, each -> "~" + names.size()));
    }

    /** Returns the text with another name for each part that was drawn by chance. */
    private static String named(CharSequence marked, UnaryOperator<String> names) {
        var text = marked.toString();
        var named = new StringBuilder(text.length());
        var end = 0;
        for (var begin = text.indexOf(BEGIN); begin >= 0; begin = text.indexOf(BEGIN, end)) {
            named.append(text.substring(end, begin));
            end = text.indexOf(END, begin) + 1;
            named.append(names.apply(text.substring(begin + 1, end - 1)));
        }
        return named.append(text, end, text.length()).toString();
    }

    /** Returns a number for this text that is hardly ever another's. */
    static long number(String text) {
        var number = 0xCBF29CE484222325L;
        for (var i = 0; i < text.length(); i++) {
            number = (number ^ text.charAt(i)) * 0x100000001B3L;
        }
        number ^= number >>> 32;
        number *= 0xD6E8FEB86659FD93L;
        return number ^ (number >>> 32);
    }
}
