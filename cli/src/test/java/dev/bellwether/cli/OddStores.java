package dev.bellwether.cli;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Backend;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.ConnectUri;
import dev.bellwether.spi.ElectionsProvider;
import dev.bellwether.spi.LeaseStore;
import dev.bellwether.spi.View;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Knows {@code odd:NAME}: the store {@code memory:NAME}, where others have chosen names that we would not; and stores
 * whose clients repeat the token that they are given, by an exception of their own, {@code careless:}, or by ours,
 * {@code tactless:}; and {@code hopeless:}, for which there is no memory.
 */
public final class OddStores implements ElectionsProvider {
    /** What a terminal would obey. */
    public static final String OBEYED = "\u001b[2J\u009b2K";
    /** What is shown of that. */
    static final String SHOWN = "\uFFFD[2J\uFFFD2K";

    /** For {@link java.util.ServiceLoader}. */
    public OddStores() {}

    @Override
    public Set<String> schemes() {
        return Set.of("odd", "careless", "tactless", "hopeless");
    }

    @Override
    public Backend connect(ConnectUri uri) {
        if (uri.scheme().equals("odd")) {
            return odd((LeaseStore) ConnectUri.parse("memory:" + uri.body()).connect());
        }
        if (uri.scheme().equals("hopeless")) {
            throw new OutOfMemoryError("planted");
        }
        var message = "invalid header value: \"" + uri.parameter("token").orElse("") + '"';
        throw uri.scheme().equals("careless") ? new IllegalArgumentException(message) : new ElectionException(message);
    }

    private static Backend odd(LeaseStore store) {
        return (LeaseStore) Proxy.newProxyInstance(
                LeaseStore.class.getClassLoader(),
                new Class<?>[] {LeaseStore.class},
                (self, method, arguments) -> switch (method.getName()) {
                    case "list" ->
                        store.list().thenApply(names -> {
                            var all = new ArrayList<>(names);
                            all.add("odd" + OBEYED);
                            return List.copyOf(all);
                        });
                    case "acquire" ->
                        store.acquire((Claim) arguments[0])
                                .thenApply(answer -> answer.granted() ? answer : new Answer(false, odd(answer.view())));
                    case "read" -> store.read((String) arguments[0]).thenApply(OddStores::odd);
                    case "watch" -> watch(store, (String) arguments[0], arguments[1]);
                    default -> {
                        try {
                            yield method.invoke(store, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    }
                });
    }

    @SuppressWarnings("unchecked") // it is a method of LeaseStore
    private static Object watch(LeaseStore store, String election, Object watcher) {
        return store.watch(election, view -> ((Consumer<View>) watcher).accept(odd(view)));
    }

    private static View odd(View view) {
        return view.heldBy(
                view.holder()
                        .map(one ->
                                new View.Holder(one.candidate() + OBEYED, one.nonce(), one.since(), one.metadata())),
                view.remaining());
    }
}
