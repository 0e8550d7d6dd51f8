package dev.bellwether.nats;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import java.io.IOException;
import java.time.Duration;

/** A candidate in a process of its own, which says on its output what befalls it. Ends when its input does. */
final class ChildMain {
    private static final long TURN_MILLIS = 5;

    private ChildMain() {}

    public static void main(String[] args) throws Exception {
        var lease = Duration.parse(args[2]);
        try (var elections = Elections.connect(args[0]);
                var candidacy = elections.stand(
                        args[1],
                        CandidacyConfig.builder()
                                .lease(lease)
                                .candidate("child")
                                .build())) {
            say("stands");
            var held = 0L;
            var last = System.nanoTime();
            while (!told()) {
                var now = System.nanoTime();
                var leads = candidacy.isLeader();
                if (held != 0 && now - last > lease.toNanos()) {
                    say("frozen, then leads " + leads);
                }
                last = now;
                var token =
                        candidacy.mandate().map(dev.bellwether.Mandate::token).orElse(held);
                if (token != held) {
                    say("leads " + token);
                    held = token;
                }
                Thread.sleep(TURN_MILLIS);
            }
        }
    }

    private static boolean told() throws IOException {
        return System.in.available() > 0;
    }

    private static void say(String what) {
        System.out.println(what);
        System.out.flush();
    }
}
