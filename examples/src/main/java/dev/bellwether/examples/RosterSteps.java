package dev.bellwether.examples;

import dev.bellwether.Elections;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterMode;
import java.io.PrintStream;
import java.time.Duration;

/** The code of the page about rosters. */
final class RosterSteps {
    private RosterSteps() {}

    /** Where prices go. */
    interface Feed {
        void publish(int instrument, long token);
    }

    /** What holds the shards of a store. */
    interface Shards {
        void put(int shard, String key, String value, long token);

        void forward(int shard, String key, String value);
    }

    static Roster price(Elections elections, Feed feed) {
        // tag::exclusive
        var roster = elections.roster("pricing", RosterConfig.ofRoles(1_000));
        roster.whileLeading((role, mandate) -> feed.publish(role, mandate.token()));
        // end::exclusive
        return roster;
    }

    static Roster priceWithoutGaps(Elections elections, Feed feed, String group) {
        // tag::overlapping
        var config = RosterConfig.builder()
                .mode(RosterMode.OVERLAPPING)
                .roles(1_000)
                .group(group) // "a" on these machines, "b" on others
                .groups(2)
                .lease(Duration.ofSeconds(3))
                .threshold(Duration.ofSeconds(6)) // one that hears nothing publishes on for so long
                .build();
        var roster = elections.roster("pricing", config);
        roster.whileLeading((role, mandate) -> feed.publish(role, mandate.token()));
        // end::overlapping
        return roster;
    }

    static void put(Roster roster, Shards shards, String key, String value) {
        // tag::sharding
        var shard = roster.roleOf(key); // the same wherever there are as many roles
        var mandate = roster.mandate(shard);
        if (mandate.isPresent()) {
            shards.put(shard, key, value, mandate.get().token()); // a guard there refuses an older token
        } else {
            shards.forward(shard, key, value); // another member leads it
        }
        // end::sharding
    }

    static void show(Elections elections, PrintStream out) {
        // tag::outside
        elections.rosterState("pricing").ifPresent(state -> {
            for (var group : state.groups()) {
                for (var member : group.members()) {
                    out.println(group.group() + ": " + member.member() + " has roles " + state.roles(member, 1_000));
                }
            }
            state.advice().forEach(out::println);
        });
        // end::outside
    }
}
