package dev.bellwether.benchmarks.outbox;

import java.util.List;

/** All who can take part. */
final class Contestants {
    static final List<Contestant> ALL = List.of(new Ours(), new MarkPurge());

    private Contestants() {}
}
