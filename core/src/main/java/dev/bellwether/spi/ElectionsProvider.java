package dev.bellwether.spi;

import java.util.Set;

/** Makes a backend from a URI; found by {@link java.util.ServiceLoader}. */
public interface ElectionsProvider {

    /** Returns the schemes it knows, such as {@code kafka}, in lower case and without the colon. */
    Set<String> schemes();

    /**
     * Connects.
     *
     * @throws dev.bellwether.ElectionException if something in the URI is wrong: name the part and what would be right,
     *     and no secret
     * @throws dev.bellwether.UnavailableException if the infrastructure does not answer
     */
    Backend connect(ConnectUri uri);

    /**
     * Refuses what is wrong with a URI whatever the infrastructure says, and connects to nothing. By default, and as
     * far as it is not told here, {@link #connect} refuses it.
     *
     * @throws dev.bellwether.ElectionException if something is: name the part and what would be right, and no secret
     */
    default void check(ConnectUri uri) {}
}
