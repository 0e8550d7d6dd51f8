package dev.bellwether.cli.outbox;

import dev.bellwether.cli.page.Feed;
import java.util.List;

/**
 * How an outbox stood over the last day, for the page: the last five minutes by the second, the last hour by 15 s, the
 * last day by three minutes, of each the worst. A place is used again, so that it never takes more than that. Confined
 * to anybody who looks.
 */
final class BacklogHistory {
    private final Feed feed;
    private final List<Ring> rings =
            List.of(new Ring("recent", 1_000, 330), new Ring("hour", 15_000, 250), new Ring("day", 180_000, 490));

    BacklogHistory(Feed feed) {
        this.feed = feed;
    }

    /**
     * What was seen at a time.
     *
     * @param atMillis on the axis of the page
     */
    record Sample(double atMillis, long backlog, long oldestMillis, double rate) {
        Sample worst(Sample other) {
            return new Sample(
                    Math.max(atMillis, other.atMillis),
                    Math.max(backlog, other.backlog),
                    Math.max(oldestMillis, other.oldestMillis),
                    Math.max(rate, other.rate));
        }
    }

    void add(Sample sample) {
        rings.forEach(ring -> ring.add(feed, sample));
    }

    private static final class Ring {
        private final String kind;
        private final long periodMillis;
        private final int places;
        private long period = Long.MIN_VALUE;
        private Sample worst = new Sample(0, 0, 0, 0);

        Ring(String kind, long periodMillis, int places) {
            this.kind = kind;
            this.periodMillis = periodMillis;
            this.places = places;
        }

        void add(Feed feed, Sample sample) {
            var now = (long) Math.floor(sample.atMillis() / periodMillis);
            worst = now == period ? worst.worst(sample) : sample;
            period = now;
            var shown = worst;
            feed.put(kind, Long.toString(now % places), json -> {
                json.writeNumberField("at", shown.atMillis());
                json.writeNumberField("backlog", shown.backlog());
                json.writeNumberField("oldest", shown.oldestMillis());
                json.writeNumberField("rate", shown.rate());
            });
        }
    }
}
