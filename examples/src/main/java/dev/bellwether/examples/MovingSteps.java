package dev.bellwether.examples;

import dev.bellwether.Candidacy;
import dev.bellwether.Elections;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The code of the page about moving to another infrastructure. */
final class MovingSteps {
    private MovingSteps() {}

    static Elections before() {
        // tag::before
        var elections = Elections.connect("zk://zoo:2181/elections");
        // end::before
        return elections;
    }

    static Elections moving() {
        // tag::moving
        var elections = Elections.jointly(
                Elections.connect("zk://zoo:2181/elections"), // the old one first
                Elections.connect("kafka://kafka:9092"));
        // end::moving
        return elections;
    }

    static Elections after() {
        // tag::after
        var elections = Elections.connect("kafka://kafka:9092");
        // end::after
        return elections;
    }

    /** Moves three processes, one after the other. Returns the tokens of the leaders, in order. */
    static List<Long> move(String old, String next) throws InterruptedException {
        var tokens = new ArrayList<Long>();
        try (var first = Elections.connect(old);
                var candidacy = first.stand("billing")) {
            tokens.add(token(candidacy));
        }
        // tag::uri
        var both = Elections.connect("joint:?old=" + encoded(old) + "&next=" + encoded(next));
        // end::uri
        try (both;
                var candidacy = both.stand("billing")) {
            tokens.add(token(candidacy));
        }
        try (var last = Elections.connect(next);
                var candidacy = last.stand("billing")) {
            tokens.add(token(candidacy));
        }
        return tokens;
    }

    private static String encoded(String uri) {
        return URLEncoder.encode(uri, StandardCharsets.UTF_8);
    }

    private static long token(Candidacy candidacy) throws InterruptedException {
        return candidacy.await(Duration.ofSeconds(30)).orElseThrow().token();
    }
}
