package dev.bellwether.sql;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.fixtures.ChildProcess;
import java.io.IOException;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A candidate in a process of its own, which says on its output what befalls it. Ends when its input does. */
final class ChildMain {
    private static final long TURN_MILLIS = 5;

    private ChildMain() {}

    /** Has it stand in a process of its own. */
    static ChildProcess stand(String uri, String election, Duration lease) {
        return stand(uri, election, lease, Map.of());
    }

    /** The same, with this in the environment of the process. */
    static ChildProcess stand(String uri, String election, Duration lease, Map<String, String> environment) {
        return ChildProcess.start(environment, ChildMain.class, uri, election, lease.toString());
    }

    public static void main(String[] args) throws Exception {
        var uri = args[0];
        var election = args[1];
        var lease = Duration.parse(args[2]);
        say("clock " + System.currentTimeMillis());
        try (var elections = Elections.connect(uri);
                var candidacy = elections.stand(
                        election,
                        CandidacyConfig.builder()
                                .lease(lease)
                                .candidate("child")
                                .build())) {
            say("stands");
            Mandate held = null;
            var last = System.nanoTime();
            while (!told()) {
                var now = System.nanoTime();
                var leads = candidacy.isLeader();
                if (held != null && now - last > lease.toNanos()) {
                    say("frozen, then leads " + leads + ", guard " + guarded(uri, held));
                }
                last = now;
                var mandate = candidacy.mandate().orElse(null);
                if (mandate != null && (held == null || held.token() != mandate.token())) {
                    say("leads " + mandate.token());
                    held = mandate;
                }
                Thread.sleep(TURN_MILLIS);
            }
        }
    }

    private static boolean told() throws IOException {
        return System.in.available() > 0;
    }

    /** Tries a guarded transaction as one who does not ask his own clock. */
    private static String guarded(String uri, Mandate held) throws SQLException {
        try (var connection = DriverManager.getConnection(uri)) {
            connection.setAutoCommit(false);
            SqlGuard.defaults().check(connection, new Trusting(held));
            connection.commit();
            return "passed";
        } catch (NotLeaderException e) {
            return "refused";
        }
    }

    private static void say(@Nullable String what) {
        System.out.println(what);
        System.out.flush();
    }
}
