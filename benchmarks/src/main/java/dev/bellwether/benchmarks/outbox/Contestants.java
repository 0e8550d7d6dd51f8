package dev.bellwether.benchmarks.outbox;

import static java.util.stream.Collectors.joining;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** All who can take part. */
final class Contestants {
    private static final List<Contestant> ALL =
            List.of(new Ours(), new MarkPurge(), new OrderedTopics(), new DebeziumRouter());

    private Contestants() {}

    /**
     * Returns those whose names stand behind the first so many arguments, in that order and as often as they stand there; or all, and
     * the quick ones twice more, since whoever comes first meets servers that are still being compiled.
     */
    static List<Contestant> named(String[] args, int from) {
        if (args.length > from) {
            return Arrays.stream(args, from, args.length)
                    .map(Contestants::named)
                    .toList();
        }
        var quick = ALL.stream().filter(Contestant::isQuick).toList();
        return Stream.of(ALL, quick, quick).flatMap(List::stream).toList();
    }

    private static Contestant named(String name) {
        for (var contestant : ALL) {
            if (contestant.name().equals(name)) {
                return contestant;
            }
        }
        throw new IllegalArgumentException("nobody is called \"" + name + "\"; there are "
                + ALL.stream().map(Contestant::name).collect(joining("\", \"", "\"", "\"")));
    }
}
