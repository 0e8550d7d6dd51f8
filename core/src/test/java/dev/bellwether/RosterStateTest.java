package dev.bellwether;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.RosterState.Group;
import dev.bellwether.RosterState.Member;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RosterStateTest {
    private static Member member(String id, String host, Integer... partitions) {
        return new Member(id, host, List.of(partitions));
    }

    private static RosterState state(int partitions, Group... groups) {
        return new RosterState("pricing", partitions, List.of(groups));
    }

    private static Group crowd(int members) {
        return new Group(
                "a",
                IntStream.range(0, members)
                        .mapToObj(i -> member("m" + i, "h" + i))
                        .toList());
    }

    @Test
    void rolesFollowPartitions() {
        var member = member("ann", "h", 1, 0);
        assertThat(state(3, new Group("a", List.of(member))).roles(member, 8)).containsExactly(0, 1, 3, 4, 6, 7);
    }

    @Test
    void whatIsNobodysIsCounted() {
        assertThat(new Group("a", List.of(member("ann", "h", 1, 0))).vacant(5)).isEqualTo(3);
    }

    @Test
    void moreMembersThanPartitionsAndFewPartitionsForEachAreNotAdvisable() {
        assertThat(state(4, crowd(5)).advice())
                .singleElement()
                .asString()
                .contains("group a", "1 of them will lead nothing");
        assertThat(state(5, crowd(3)).advice()).singleElement().asString().contains("twice as much");
        assertThat(state(64, crowd(3)).advice()).isEmpty();
        assertThat(state(6, crowd(3)).advice()).isEmpty();
    }

    @Test
    void groupsOnOneMachineAreNotAdvisable() {
        var a = new Group("a", List.of(member("ann", "one", 0, 1)));
        var b = new Group("b", List.of(member("bob", "one", 0, 1)));
        assertThat(state(2, a, b).advice()).singleElement().asString().contains("groups a and b", "on one");
        var elsewhere = new Group("b", List.of(member("bob", "two", 0, 1)));
        assertThat(state(2, a, elsewhere).advice()).isEmpty();
        assertThat(state(
                                2,
                                new Group("a", List.of(member("ann", "", 0))),
                                new Group("b", List.of(member("bob", "", 0))))
                        .advice())
                .as("where nothing is known of machines")
                .isEmpty();
    }
}
