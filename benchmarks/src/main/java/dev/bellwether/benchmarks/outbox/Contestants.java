package dev.bellwether.benchmarks.outbox;

import java.util.ArrayList;
import java.util.List;

/** All who can take part. */
final class Contestants {
    private static final List<Contestant> ALL =
            List.of(new Ours(), new MarkPurge(), new OrderedTopics(), new DebeziumRouter());

    private Contestants() {}

    /** Returns those whose names stand behind the first so many arguments, or all. */
    static List<Contestant> named(String[] args, int from) {
        var who = new ArrayList<Contestant>();
        for (var contestant : ALL) {
            if (args.length <= from || List.of(args).subList(from, args.length).contains(contestant.name())) {
                who.add(contestant);
            }
        }
        return who;
    }
}
