package dev.bellwether.testkit.sim;

import dev.bellwether.spi.Answer;
import dev.bellwether.spi.Claim;
import dev.bellwether.spi.View;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes a process the copy of another: what it sends bears the instance ids of the original, and what bears them it
 * takes for its own. Confined to the world.
 */
final class Twin {
    /** The length of an instance id, with which each nonce begins. */
    static final int INSTANCE = 36;

    private final @Nullable Twin original;
    private final Map<String, List<String>> instances =
            new HashMap<>(); // by election, in the order of their first claims
    private final Map<String, String> theirs = new HashMap<>(); // by ours
    private final Map<String, String> ours = new HashMap<>(); // by theirs

    Twin(@Nullable Twin original) {
        this.original = original;
    }

    Claim sent(Claim claim) {
        return new Claim(
                claim.election(),
                claim.candidate(),
                replaced(claim.nonce(), asOriginal(claim.election(), claim.nonce())),
                claim.lease(),
                claim.patience(),
                claim.priority(),
                claim.metadata(),
                claim.era(),
                claim.least());
    }

    @SuppressWarnings("unchecked") // it is of the same kind
    <T> T seen(T given) {
        if (ours.isEmpty()) {
            return given;
        }
        if (given instanceof Answer answer) {
            return (T) new Answer(answer.granted(), seen(answer.view()));
        }
        if (given instanceof List<?> all) {
            return (T) all.stream().map(this::seen).toList();
        }
        return given instanceof View view ? (T) seen(view) : given;
    }

    private View seen(View view) {
        return view.heldBy(
                view.holder()
                        .map(holder -> new View.Holder(
                                holder.candidate(),
                                replaced(holder.nonce(), ours.get(instance(holder.nonce()))),
                                holder.since(),
                                holder.metadata())),
                view.remaining());
    }

    /**
     * Decided once: the n-th that stands for an election here is the copy of the n-th of the original, if that has come
     * so far.
     */
    private @Nullable String asOriginal(String election, String nonce) {
        var mine = instance(nonce);
        var known = instances.computeIfAbsent(election, name -> new ArrayList<>());
        if (!known.contains(mine)) {
            known.add(mine);
            var copied = original == null ? List.<String>of() : original.instances.getOrDefault(election, List.of());
            if (copied.size() >= known.size()) {
                theirs.put(mine, copied.get(known.size() - 1));
                ours.put(copied.get(known.size() - 1), mine);
            }
        }
        return theirs.get(mine);
    }

    static String instance(String nonce) {
        return nonce.length() < INSTANCE ? nonce : nonce.substring(0, INSTANCE);
    }

    private static String replaced(String nonce, @Nullable String instance) {
        return instance == null ? nonce : instance + nonce.substring(INSTANCE);
    }
}
