package dev.bellwether.testkit;

import java.util.ArrayList;
import java.util.Optional;
import org.junit.jupiter.api.MethodDescriptor;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.MethodOrdererContext;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Has facts that are {@link AloneOnServer} begin when most others are done: before each of them all that run must end,
 * and none may begin meanwhile. The one that waits longest begins first. Only time depends on it, so it may be wrong.
 *
 * <p>JUnit's threads take facts from the beginning of the list, but one takes them from the end.
 */
final class AloneLate implements MethodOrderer {
    /** Of six facts that run at a time, five are taken from the beginning. */
    private static final double MEETING_POINT = 5.0 / 6;

    AloneLate() {}

    @Override
    public void orderMethods(MethodOrdererContext context) {
        var methods = context.getMethodDescriptors();
        var alone = new ArrayList<MethodDescriptor>();
        var others = new ArrayList<MethodDescriptor>();
        for (var method : methods) {
            (method.isAnnotated(AloneOnServer.class) ? alone : others).add(method);
        }
        others.sort((one, other) -> Boolean.compare(waitsLong(other), waitsLong(one)));
        others.addAll((int) (others.size() * MEETING_POINT), alone);
        context.getMethodDescriptors().sort((one, other) -> others.indexOf(one) - others.indexOf(other));
    }

    /** It waits for a stand-down budget of its long leases. Those that want short ones kept come when all is warm. */
    private static boolean waitsLong(MethodDescriptor method) {
        return method.getMethod().getName().startsWith("twoElections");
    }

    @Override
    public Optional<ExecutionMode> getDefaultExecutionMode() {
        return Optional.empty(); // the facts say so themselves
    }
}
