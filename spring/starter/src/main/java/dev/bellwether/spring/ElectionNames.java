package dev.bellwether.spring;

import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.AnnotatedElementUtils;

/** Which elections {@link LeaderOnly} names. */
final class ElectionNames {
    private ElectionNames() {}

    /** Returns whether a method runs under a mandate; a bean method does not, but its bean. */
    static boolean isNamedBy(Method method) {
        return annotation(method) != null;
    }

    /** Returns the election under whose mandate a method runs, or null if it is none of ours. */
    static @Nullable String of(Method method, BeanFactory beans) {
        var annotation = annotation(method);
        return annotation == null ? null : of(annotation, beans);
    }

    /** Returns the election that an annotation names, with the values of properties in place of placeholders. */
    static String of(LeaderOnly annotation, BeanFactory beans) {
        var written = annotation.value();
        var name =
                beans instanceof ConfigurableBeanFactory resolving ? resolving.resolveEmbeddedValue(written) : written;
        if (name == null || name.contains("${")) {
            throw new IllegalArgumentException("@LeaderOnly(\"" + written
                    + "\") names its election by a property that has no value: set the property, or write a default"
                    + " behind a colon, such as ${tenant:main}");
        }
        return name;
    }

    private static @Nullable LeaderOnly annotation(Method method) {
        return AnnotatedElementUtils.hasAnnotation(method, Bean.class)
                ? null
                : AnnotatedElementUtils.findMergedAnnotation(method, LeaderOnly.class);
    }
}
