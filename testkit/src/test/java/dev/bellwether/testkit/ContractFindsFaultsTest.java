package dev.bellwether.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Runs the facts of the contract against stores that are broken, each in one way, and against the same store unbroken.
 */
class ContractFindsFaultsTest {
    private static final int AT_ONCE = 4;
    private static final ThreadLocal<Optional<Fault>> FAULT = ThreadLocal.withInitial(Optional::empty);

    /** The contract over whatever is set for this thread; not found by itself, since it is nested. */
    static final class Broken extends ElectionsContract {
        @Override
        protected Infrastructure infrastructure() {
            return new BrokenInfrastructure(FAULT.get().orElse(null));
        }
    }

    private record Run(@Nullable Fault fault, String fact, long failed, long passed, String how) {
        @Override
        public String toString() {
            return "%-29s %-72s %s"
                    .formatted(fault == null ? "-" : fault, fact, failed == 0 ? "passes" : "fails: " + how);
        }
    }

    @Test
    void everyFaultIsFoundByItsFactsAndNoFactFailsWithoutAFault() throws Exception {
        var facts = new TreeSet<String>();
        var faulty = new ArrayList<Callable<Run>>();
        var runs = new ArrayList<Run>();
        for (var fault : Fault.values()) {
            for (var fact : fault.facts()) {
                facts.add(fact);
                if (isAlone(fact)) {
                    runs.add(run(fault, fact)); // those that count threads and files would count the others'
                } else {
                    faulty.add(() -> run(fault, fact));
                }
            }
        }
        runs.addAll(inParallel(faulty));
        runs.sort(Comparator.comparing(run -> String.valueOf(run.fault)));
        runs.forEach(run -> System.out.println(run));
        assertThat(runs)
                .filteredOn(run -> run.failed() == 0)
                .as("faults that went unnoticed")
                .isEmpty();

        // the control: with the same little patience, without a fault
        var beside = facts.stream().filter(fact -> !isAlone(fact)).toList();
        var controls = new ArrayList<>(inParallel(beside.stream()
                .map(fact -> (Callable<Run>) () -> run(null, fact))
                .toList()));
        facts.stream().filter(fact -> !beside.contains(fact)).forEach(fact -> controls.add(run(null, fact)));
        System.out.printf(
                "%d facts found %d faults, and %d of them pass without one%n",
                facts.size(),
                Fault.values().length,
                controls.stream().filter(run -> run.failed() == 0).count());
        assertThat(controls)
                .filteredOn(run -> run.failed() > 0)
                .as("facts that fail without a fault")
                .isEmpty();
    }

    private static boolean isAlone(String fact) {
        return method(fact).isAnnotationPresent(AloneOnServer.class);
    }

    private static List<Run> inParallel(List<Callable<Run>> runs) throws InterruptedException, ExecutionException {
        var executor = Executors.newFixedThreadPool(AT_ONCE);
        try {
            var done = new ArrayList<Run>();
            for (var future : executor.invokeAll(runs)) {
                done.add(future.get());
            }
            return done;
        } finally {
            executor.shutdown();
        }
    }

    private static Run run(@Nullable Fault fault, String fact) {
        var request = LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectMethod(Broken.class, method(fact)))
                .build();
        var listener = new SummaryGeneratingListener();
        FAULT.set(Optional.ofNullable(fault));
        try {
            LauncherFactory.create().execute(request, listener);
        } finally {
            FAULT.remove();
        }
        var summary = listener.getSummary();
        assertThat(summary.getTestsStartedCount()).as(fact).isPositive();
        return new Run(fault, fact, summary.getTestsFailedCount(), summary.getTestsSucceededCount(), how(summary));
    }

    private static String how(TestExecutionSummary summary) {
        return summary.getFailures().stream()
                .map(failure -> String.valueOf(failure.getException().getMessage()))
                .findFirst()
                .map(message -> message.strip().replaceAll("\\s+", " "))
                .map(message -> message.substring(0, Math.min(100, message.length())))
                .orElse("");
    }

    private static Method method(String fact) {
        return Stream.<Class<?>>iterate(
                        ElectionsContract.class, type -> type != Object.class, type -> type.getSuperclass())
                .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                .filter(method -> method.getName().equals(fact))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no such fact: " + fact));
    }
}
