package dev.bellwether.testkit;

import dev.bellwether.Elections;
import java.lang.reflect.Constructor;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives a test {@link ControlledElections} of its own, and closes them behind it:
 * {@code @ExtendWith(BellwetherExtension.class)}.
 *
 * <pre>{@code
 * void aLeaderIsRevokedInOrder(ControlledElections controlled, Elections elections) {
 *     var log = new EventLog();
 *     elections.stand("billing", CandidacyConfig.builder().listener(log).build());
 *     controlled.election("billing").acquire();
 *     controlled.election("billing").revoke();
 *     assertThat(log.turns()).containsExactly("Acquired 1", "Revoked 1 MOVED");
 * }
 * }</pre>
 *
 * <p>A parameter of type {@link ControlledElections}, or of type {@link Elections} for what they control, in a test
 * method or a {@code @BeforeEach} method; all parameters of one test get the same. Not in a constructor: JUnit then
 * says that no resolver is registered.
 */
public final class BellwetherExtension implements ParameterResolver, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(BellwetherExtension.class);

    /** For JUnit. */
    public BellwetherExtension() {}

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        var type = parameter.getParameter().getType();
        return !(parameter.getDeclaringExecutable() instanceof Constructor)
                && context.getTestMethod().isPresent()
                && (type == ControlledElections.class || type == Elections.class);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        var controlled = context.getStore(NAMESPACE)
                .getOrComputeIfAbsent(
                        ControlledElections.class, key -> new ControlledElections(), ControlledElections.class);
        return parameter.getParameter().getType() == Elections.class ? controlled.elections() : controlled;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        var controlled = context.getStore(NAMESPACE).get(ControlledElections.class, ControlledElections.class);
        if (controlled != null) {
            controlled.close();
        }
    }
}
