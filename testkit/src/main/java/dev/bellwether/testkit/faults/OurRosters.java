package dev.bellwether.testkit.faults;

import dev.bellwether.Elections;
import dev.bellwether.Roster;
import dev.bellwether.RosterConfig;
import dev.bellwether.RosterEvent;
import dev.bellwether.RosterMode;
import dev.bellwether.UnavailableException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * A member of three rosters, one of each mode, in one process. The bench itself looks at a role of the exclusive one;
 * each role of each is looked at besides, and written down for {@link RoleTerms}.
 */
public class OurRosters implements Contestant.Maker {
    /** How many roles each roster has, each a partition. */
    public static final int ROLES = 4;

    private static final long RETRY_MILLIS = 100;
    private static final char SEPARATOR = '|';

    /** For the process that is a member. */
    public OurRosters() {}

    /** Returns what a member is told to connect to, by an address, and where to write its terms. */
    public static String uri(Path folder, String address) {
        return folder.toAbsolutePath().toString() + SEPARATOR + address;
    }

    /** Returns where a member is told to write its terms. */
    protected static Path folder(String uri) {
        return Path.of(uri.substring(0, uri.indexOf(SEPARATOR)));
    }

    @Override
    public Contestant stand(Contestant.Orders orders) throws InterruptedException {
        var folder = folder(orders.uri());
        var elections = connect(orders.uri().substring(orders.uri().indexOf(SEPARATOR) + 1));
        var rosters = new ArrayList<Roster>();
        var lookers = new ArrayList<LeadershipSampler>();
        for (var mode : RosterMode.values()) {
            var roster = join(elections, mode, orders);
            rosters.add(roster);
            for (var role = 0; role < ROLES; role++) {
                lookers.add(RoleTerms.look(folder, name(mode) + '-' + role, orders.candidate(), subject(roster, role)));
            }
        }
        return new Member(elections, rosters, lookers, subject(rosters.get(0), 0));
    }

    /** Returns a role as one to be looked at. */
    protected LeadershipSampler.Subject subject(Roster roster, int role) {
        return new Role(roster, role);
    }

    private static String name(RosterMode mode) {
        return mode.name().toLowerCase(Locale.ROOT);
    }

    private static Elections connect(String uri) throws InterruptedException {
        while (true) {
            try {
                return Elections.connect(uri);
            } catch (UnavailableException e) {
                TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
            }
        }
    }

    private static Roster join(Elections elections, RosterMode mode, Contestant.Orders orders)
            throws InterruptedException {
        var config = RosterConfig.builder()
                .mode(mode)
                .roles(ROLES)
                .partitions(ROLES)
                .lease(orders.lease())
                .member(orders.candidate())
                .taskInterval(Duration.ofMillis(20))
                .listener(event -> {
                    orders.held().run();
                    if (event instanceof RosterEvent.Failed) {
                        orders.faults().accept("a member failed: " + event);
                    }
                })
                .build();
        while (true) {
            try {
                var roster = elections.roster(orders.election() + '.' + name(mode), config);
                roster.whileLeading((role, mandate) -> {});
                return roster;
            } catch (UnavailableException e) {
                TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
            }
        }
    }

    private static final class Role implements LeadershipSampler.Subject {
        private final Roster roster;
        private final int role;
        private volatile long last;

        private Role(Roster roster, int role) {
            this.roster = roster;
            this.role = role;
        }

        @Override
        public boolean isLeader() {
            return roster.leads(role);
        }

        @Override
        public long token() {
            roster.mandate(role).ifPresent(mandate -> last = mandate.token());
            return last;
        }
    }

    private record Member(
            Elections elections,
            List<Roster> rosters,
            List<LeadershipSampler> lookers,
            LeadershipSampler.Subject subject)
            implements Contestant {
        @Override
        public boolean isLeader() {
            return subject.isLeader();
        }

        @Override
        public long token() {
            return subject.token();
        }

        @Override
        public void close() {
            elections.close();
            lookers.forEach(LeadershipSampler::close);
        }
    }
}
