package dev.bellwether.benchmarks;

import dev.bellwether.Candidacy;
import dev.bellwether.Elections;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** What it costs to ask whether we lead, beside what it is made of. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class IsLeaderBenchmark {
    private final AtomicBoolean flag = new AtomicBoolean(true);
    private final Elections elections = Elections.connect("memory:benchmark");
    private final Candidacy candidacy = elections.stand("billing");

    /** For JMH. */
    public IsLeaderBenchmark() {}

    /** Leads. */
    @Setup
    public void lead() throws InterruptedException {
        if (candidacy.await(Duration.ofSeconds(10)).isEmpty()) {
            throw new IllegalStateException(candidacy + " does not lead");
        }
    }

    /** Leads no more. */
    @TearDown
    public void close() {
        elections.close();
    }

    /** The question. */
    @Benchmark
    public boolean isLeader() {
        return candidacy.isLeader();
    }

    /** The least that another thread's decision can cost. */
    @Benchmark
    public boolean atomicBoolean() {
        return flag.get();
    }

    /** One clock. */
    @Benchmark
    public long nanoTime() {
        return System.nanoTime();
    }

    /** Both clocks, which promise 2 needs: a suspended machine shows on the second only. */
    @Benchmark
    public long bothClocks() {
        return System.nanoTime() + System.currentTimeMillis();
    }
}
