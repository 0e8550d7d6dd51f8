package dev.bellwether.spring;

import dev.bellwether.ElectionException;
import java.util.Map;
import java.util.Objects;

/** Health, whose classes have other names in each version of Spring Boot: it is looked at by its methods. */
final class Indicators {
    private Indicators() {}

    static Map<?, ?> details(Object indicator) {
        return (Map<?, ?>) call(call(indicator, "health"), "getDetails");
    }

    static String status(Object indicator) {
        return code(call(indicator, "health"));
    }

    private static String code(Object health) {
        return call(call(health, "getStatus"), "getCode").toString();
    }

    static Object call(Object object, String name, Object... arguments) {
        for (var type : object.getClass().getInterfaces().length == 0
                ? new Class<?>[] {object.getClass()}
                : object.getClass().getInterfaces()) {
            for (var method : type.getMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                    try {
                        return Objects.requireNonNull(method.invoke(object, arguments));
                    } catch (ReflectiveOperationException e) {
                        throw new ElectionException(name + " of " + object, e);
                    }
                }
            }
        }
        throw new IllegalStateException(object + " has no " + name);
    }
}
