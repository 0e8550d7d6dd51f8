package dev.bellwether.zookeeper;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.Phase;
import java.io.IOException;
import java.time.Duration;

/**
 * A candidate in a process of its own, which says on its output from when to when it found itself leading: on the
 * monotonic clock, which all processes of a machine share. Ends when its input does.
 */
final class ChildMain {
    private ChildMain() {}

    /** Takes the address to connect to, the election and the lease. */
    public static void main(String[] args) throws IOException, InterruptedException {
        try (var elections = Elections.connect(args[0])) {
            var candidacy = elections.stand(
                    args[1],
                    CandidacyConfig.builder()
                            .candidate("child")
                            .lease(Duration.parse(args[2]))
                            .build());
            var watch = new Thread(() -> watch(candidacy), "watch");
            watch.setDaemon(true);
            watch.start();
            while (System.in.read() >= 0) {
                Thread.onSpinWait(); // nobody writes to it
            }
            candidacy.close();
            watch.join();
        }
        System.exit(0);
    }

    /** Says {@code leads TOKEN} when it begins to lead, and when it has ended, {@code led FIRST LAST}. */
    private static void watch(Candidacy candidacy) {
        var leads = false;
        var first = 0L;
        var last = 0L;
        while (leads || candidacy.status().phase() != Phase.CLOSED) {
            var before = System.nanoTime();
            var now = candidacy.isLeader();
            var after = System.nanoTime();
            if (now && !leads) {
                first = after;
                say("leads " + candidacy.status().token());
            }
            if (now) {
                last = before;
            } else if (leads) {
                say("led " + first + ' ' + Math.max(first, last));
            }
            leads = now;
            pause();
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void pause() {
        try {
            Thread.sleep(0, 200_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
