package dev.bellwether.kafka;

import dev.bellwether.RosterState;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.common.TopicPartition;

/** The groups of rosters, as the brokers know them. */
final class RosterGroups {
    private static final String ANY = "*";
    /** What a group is called whose id does not tell a name. */
    private static final String ONLY = "main";

    private static final Pattern CLIENT = Pattern.compile("bellwether-member-[0-9a-f-]{36}-(.*)", Pattern.DOTALL);

    private RosterGroups() {}

    /** Returns the id of a member's client, from which others can tell its name. */
    static String clientId(String instance, String member) {
        return "bellwether-member-" + instance + '-' + member;
    }

    /** Reads who has what. */
    static CompletionStage<Optional<RosterState>> read(Settings settings, AdminConnection admin, String roster) {
        return groups(admin, settings.rosterGroup(roster, ANY)).thenCompose(groups -> {
            var topic = sharedTopic(groups).orElseGet(() -> RosterTopic.name(settings, roster));
            return RosterTopic.look(admin, topic)
                    .thenApply(found -> found.map(description ->
                            state(roster, description.partitions().size(), topic, groups)));
        });
    }

    /**
     * Returns the topic that the members have partitions of, which need not be the one that is named after the roster.
     */
    private static Optional<String> sharedTopic(Map<String, ConsumerGroupDescription> groups) {
        return groups.values().stream()
                .flatMap(group -> group.members().stream())
                .flatMap(member -> member.assignment().topicPartitions().stream())
                .map(TopicPartition::topic)
                .findFirst();
    }

    /** Reads the groups whose ids are of this shape, by their names. */
    private static CompletionStage<Map<String, ConsumerGroupDescription>> groups(AdminConnection admin, String shape) {
        return admin.ask(client ->
                        client.listGroups(ListGroupsOptions.forConsumerGroups()).all())
                .toCompletionStage()
                .thenCompose(all -> {
                    var ids = all.stream()
                            .map(GroupListing::groupId)
                            .filter(id -> name(shape, id).isPresent())
                            .toList();
                    return admin.ask(
                                    client -> client.describeConsumerGroups(ids).all())
                            .toCompletionStage();
                })
                .thenApply(found -> {
                    var byName = new HashMap<String, ConsumerGroupDescription>();
                    found.forEach(
                            (id, description) -> byName.put(name(shape, id).orElseThrow(), description));
                    return byName;
                });
    }

    /** Returns the name of the group with this id, if that is of this shape. */
    static Optional<String> name(String shape, String id) {
        var at = shape.indexOf(ANY);
        if (at < 0) {
            return id.equals(shape) ? Optional.of(ONLY) : Optional.empty();
        }
        var before = shape.substring(0, at);
        var after = shape.substring(at + ANY.length());
        if (id.length() <= before.length() + after.length() || !id.startsWith(before) || !id.endsWith(after)) {
            return Optional.empty();
        }
        var name = id.substring(before.length(), id.length() - after.length());
        // else it is of a roster with a longer name, or of an election
        return name.contains(".") || name.contains("~") ? Optional.empty() : Optional.of(name);
    }

    private static RosterState state(
            String roster, int partitions, String topic, Map<String, ConsumerGroupDescription> groups) {
        return new RosterState(
                roster,
                partitions,
                groups.entrySet().stream()
                        .map(group -> new RosterState.Group(
                                group.getKey(), members(topic, group.getValue().members())))
                        .filter(group -> !group.members().isEmpty())
                        .sorted(Comparator.comparing(RosterState.Group::group))
                        .toList());
    }

    private static List<RosterState.Member> members(String topic, Collection<MemberDescription> members) {
        return members.stream()
                .map(member -> new RosterState.Member(
                        name(member.clientId()),
                        member.host().replaceFirst("^/", ""),
                        member.assignment().topicPartitions().stream()
                                .filter(each -> each.topic().equals(topic))
                                .map(TopicPartition::partition)
                                .toList()))
                .sorted(Comparator.comparing(RosterState.Member::member))
                .toList();
    }

    private static String name(String clientId) {
        var ours = CLIENT.matcher(clientId);
        return ours.matches() ? ours.group(1) : clientId;
    }
}
