package dev.bellwether.benchmarks.outbox;

import static java.util.stream.Collectors.joining;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** All who can take part. */
final class Contestants {
    private static final int RUNS = 5;
    private static final List<OutboxContestant> ALL =
            List.of(new BellwetherContestant(1), new MarkPurge(), new OrderedTopics(), new DebeziumRouter());
    private static final List<OutboxContestant> BY_NAME_ONLY = List.of(
            BellwetherContestant.rotated(),
            new Namastack(),
            BellwetherContestant.withRewinds(),
            new BellwetherContestant(2),
            new BellwetherContestant(4));

    private Contestants() {}

    /**
     * Returns those whose names stand behind the first so many arguments, in that order and as often as they stand
     * there; or all, the quick ones five times in turn, since the first run meets servers, and code of its own, that
     * are still being compiled.
     */
    static List<OutboxContestant> named(String[] args, int from) {
        if (args.length > from) {
            return Arrays.stream(args, from, args.length)
                    .map(Contestants::named)
                    .toList();
        }
        var quick = ALL.stream().filter(OutboxContestant::isQuick).toList();
        return Stream.concat(
                        ALL.stream(),
                        Stream.generate(() -> quick).limit(RUNS - 1).flatMap(List::stream))
                .toList();
    }

    private static OutboxContestant named(String name) {
        return all().filter(contestant -> contestant.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("nobody is called \"" + name + "\"; there are "
                        + all().map(OutboxContestant::name).collect(joining("\", \"", "\"", "\""))));
    }

    private static Stream<OutboxContestant> all() {
        return Stream.of(ALL, BY_NAME_ONLY).flatMap(List::stream);
    }
}
