package dev.bellwether.zookeeper;

import dev.bellwether.spi.View;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Makes what observers see of what the nodes hold. */
final class Views {
    private Views() {}

    /** Returns an election with these nodes in its queue. */
    static View of(String election, boolean ended, boolean ordered, List<SingleRequests.Node> queue) {
        var leader = queue.stream().findFirst();
        var token = leader.map(node -> node.stat().getCzxid()).orElse(0L);
        var candidates = queue.stream()
                .map(node -> NodeData.of(node.text()).shown(node.equals(queue.get(0))))
                .toList();
        return View.of(election, token)
                .heldBy(leader.map(Views::holder), Duration.ZERO)
                .orderedToStandDown(ordered)
                .inEra(0, ended)
                .among(Integer.MIN_VALUE, candidates);
    }

    static View.Holder holder(SingleRequests.Node node) {
        var data = NodeData.of(node.text());
        return new View.Holder(
                data.candidate(),
                Long.toHexString(node.stat().getCzxid()),
                Instant.ofEpochMilli(node.stat().getCtime()),
                data.metadata());
    }

    /** Returns those that are there. */
    static List<SingleRequests.Node> present(List<Optional<SingleRequests.Node>> nodes) {
        return nodes.stream().flatMap(Optional::stream).toList();
    }
}
