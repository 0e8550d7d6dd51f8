package dev.bellwether.internal.joint;

import dev.bellwether.ElectionException;
import dev.bellwether.internal.election.LazyArbiter;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import java.util.List;
import java.util.Set;

/** Knows {@code joint:?old=URI&next=URI}. */
public final class JointProvider implements ElectionsProvider {
    private static final String SCHEME = "joint";

    /** For {@link java.util.ServiceLoader}. */
    public JointProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of(SCHEME);
    }

    @Override
    public void check(ConnectUri uri) {
        uri.requireKnown(List.of("old", "next"));
        if (!uri.body().isEmpty()) {
            throw new ElectionException("in " + uri + " there is something between joint: and the question mark: it"
                    + " must be like joint:?old=URI&next=URI");
        }
        part(uri, "old").check();
        part(uri, "next").check();
        if (uri.parameter("old").equals(uri.parameter("next"))) {
            throw new ElectionException(uri + " names the same infrastructure twice: old is where to come from, next"
                    + " is where to go to, and a candidate would wait for itself");
        }
    }

    @Override
    public Backend connect(ConnectUri uri) {
        check(uri);
        var old = part(uri, "old").connect();
        try {
            return new JointArbiter(side(old), side(part(uri, "next").connect()));
        } catch (RuntimeException | Error e) {
            old.close();
            throw e;
        }
    }

    private static JointArbiter.Side side(Backend backend) {
        return new JointArbiter.Side(LazyArbiter.arbiter(backend), null, backend::close);
    }

    private static ConnectUri part(ConnectUri uri, String name) {
        var text = uri.parameter(name)
                .orElseThrow(() -> new ElectionException(
                        uri + " names no " + name + " infrastructure: it must be like joint:?old=URI&next=URI"));
        ConnectUri part;
        try {
            part = ConnectUri.parse(text);
        } catch (ElectionException e) {
            throw new ElectionException(
                    "the parameter " + name + " of " + uri + " is no URI (" + e.getMessage()
                            + "): write & as %26, ? as %3F, = as %3D, % as %25 in it, or give all of it by a"
                            + " placeholder such as ${env:NAME}",
                    e);
        }
        if (part.scheme().equals(SCHEME)) {
            throw new ElectionException("the parameter " + name + " of " + uri
                    + " is joint itself: name the two infrastructures that one deployment leads from and to");
        }
        return part;
    }
}
