package dev.bellwether.consul;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import dev.bellwether.http.HttpMembers;
import dev.bellwether.http.Json;
import dev.bellwether.http.RequestTime;
import dev.bellwether.spi.Finding;
import dev.bellwether.spi.RequestLimiter.Urgency;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Looks at the agents: whether they can be used, and what an operator should know of them. Blocks. */
final class ConsulDoctor {
    private static final Duration PATIENCE = Duration.ofSeconds(3);

    private ConsulDoctor() {}

    /**
     * Looks whether agents answer, and let us read.
     *
     * @throws ElectionException if something is wrong that a person must fix
     * @throws UnavailableException if no agent answers, or none has a leader
     */
    static void requireReachable(ConsulSettings settings, ConsulClient client) {
        client.members()
                .requireReachable(member -> client.ask(
                        member,
                        ConsulClient.keys(settings.prefix()),
                        List.of("consistent", "keys", "separator=/"),
                        RequestTime.of(PATIENCE)));
    }

    static List<Finding> findings(ConsulSettings settings, ConsulClient client) {
        var findings = new ArrayList<Finding>();
        for (var member = 0; member < settings.members().size(); member++) {
            try {
                findings.addAll(agent(
                        client.members().name(member),
                        HttpMembers.answer(client.ask(member, "agent/self", List.of(), RequestTime.of(PATIENCE)))
                                .json()));
            } catch (UnavailableException e) {
                findings.add(Finding.warning("agents", String.valueOf(e.getMessage()), "start it, or do not name it"));
            } catch (ElectionException e) {
                findings.add(Finding.warning(
                        "rights",
                        "only tokens with this rule can see what an agent is like: agent_prefix \"\" { policy ="
                                + " \"read\" }",
                        "ask for it with such a token; elections do not need it"));
                break;
            }
        }
        try {
            findings.add(servers(client));
        } catch (AccessRefusedException | UnavailableException e) {
            findings.add(HttpMembers.quorumUnknown("how many servers there are", e));
        }
        client.members().lookUps().ifPresent(findings::add);
        return findings;
    }

    private static List<Finding> agent(String host, Json self) {
        var version =
                Finding.ok("version", host + " is Consul " + self.at("Config").text("Version"));
        return List.of(
                version,
                self.at("DebugConfig").flag("DevMode")
                        ? Finding.error(
                                "durability",
                                host + " runs with -dev: it keeps nothing on disk, and a restart loses who leads",
                                "start it without -dev, and with -data-dir")
                        : Finding.ok("durability", "a write that was acknowledged is on the disks of a majority"));
    }

    private static Finding servers(ConsulClient client) {
        var voters = HttpMembers.answer(client.read(Urgency.LIST, "status/peers", List.of(), PATIENCE))
                .json()
                .texts()
                .size();
        var says = voters + (voters == 1 ? " server" : " servers") + "; elections go on while " + (voters / 2 + 1)
                + (voters == 1 ? " runs" : " of them run");
        return voters % 2 == 0 || voters == 1
                ? Finding.warning(
                        "quorum",
                        says
                                + (voters == 1
                                        ? ": no failure is tolerated"
                                        : ": this tolerates no more failures than one less"),
                        "have three servers, or five")
                : Finding.ok("quorum", says);
    }
}
