package dev.bellwether.testkit.sim;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
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

    private static final Map<Class<?>, List<Field>> FIELDS = new HashMap<>();

    private final StringBuilder text = new StringBuilder(8_192);
    private final IdentityHashMap<Object, Integer> met = new IdentityHashMap<>();

    void add(@Nullable Object... values) {
        for (var value : values) {
            text.append(value).append(' ');
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
        } else if (value instanceof CharSequence
                || value instanceof Number
                || value instanceof Boolean
                || value instanceof Enum<?>
                || value instanceof TemporalAmount
                || value instanceof TemporalAccessor
                || value instanceof UUID
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

    private void putAll(Collection<?> all, boolean sorted, StringBuilder to) {
        var parts = new ArrayList<String>();
        for (var each : all) {
            var part = new StringBuilder();
            put(each, part);
            parts.add(part.toString());
        }
        if (sorted) {
            parts.sort((one, other) -> DRAWN.matcher(one)
                    .replaceAll("?")
                    .compareTo(DRAWN.matcher(other).replaceAll("?")));
        }
        to.append(parts);
    }

    private void putFields(Object value, StringBuilder to) {
        var type = value.getClass();
        to.append(type.getName());
        if (!type.getName().startsWith("dev.bellwether.")
                || type.getName().contains("ChosenWorld")
                || LEFT_OUT.contains(type.getSimpleName())) {
            return;
        }
        to.append('{');
        for (var field : FIELDS.computeIfAbsent(type, StateText::fields)) {
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
        var names = new HashMap<String, Integer>();
        return DRAWN.matcher(text).replaceAll(found -> {
            var attempt = found.group(1);
            return "~" + names.computeIfAbsent(found.group(), name -> names.size())
                    + (attempt == null ? "" : "-" + attempt);
        });
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
