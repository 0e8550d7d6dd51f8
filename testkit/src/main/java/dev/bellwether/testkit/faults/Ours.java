package dev.bellwether.testkit.faults;

import dev.bellwether.Candidacy;
import dev.bellwether.CandidacyConfig;
import dev.bellwether.Elections;
import dev.bellwether.UnavailableException;
import dev.bellwether.testkit.EventLog;
import java.util.concurrent.TimeUnit;

/** Bellwether's own candidates, by the address that is connected to; the backend is found on the class path. */
public final class Ours implements Contestant.Maker {
    private static final long RETRY_MILLIS = 100;

    /** For the process that stands. */
    public Ours() {}

    @Override
    public Contestant stand(Contestant.Orders orders) throws InterruptedException {
        return stand(connect(orders.uri()), orders);
    }

    /** Stands over a connection that was made otherwise than by the address, and closes that at the end. */
    public static Contestant stand(Elections elections, Contestant.Orders orders) {
        var log = new EventLog(event -> orders.held().run());
        var candidacy = elections.stand(
                orders.election(),
                CandidacyConfig.builder()
                        .candidate(orders.candidate())
                        .lease(orders.lease())
                        .listener(event -> {
                            log.onEvent(event);
                            pair(log, false, orders);
                        })
                        .build());
        return new Standing(elections, candidacy, log, orders);
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

    private static void pair(EventLog log, boolean over, Contestant.Orders orders) {
        try {
            log.requirePaired(over);
        } catch (AssertionError e) {
            orders.faults().accept(String.valueOf(e.getMessage()));
        }
    }

    private record Standing(Elections elections, Candidacy candidacy, EventLog log, Contestant.Orders orders)
            implements Contestant {
        @Override
        public boolean isLeader() {
            return candidacy.isLeader();
        }

        @Override
        public long token() {
            return candidacy.status().token();
        }

        @Override
        public void close() {
            candidacy.close();
            pair(log, true, orders);
            elections.close();
        }
    }
}
