package dev.bellwether.spring;

import dev.bellwether.Mandate;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.context.Lifecycle;
import org.springframework.context.Phased;
import org.springframework.context.SmartLifecycle;

/**
 * The {@link LeaderOnly} beans of one election: started while we lead, in the order of their phases. Confined to the
 * listener, but for {@link #mayWork}, {@link #closing} and {@link #starting}.
 */
final class LedBeans {
    private static final Logger log = LoggerFactory.getLogger(LeaderOnly.class);
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Waits for something to end. */
    @FunctionalInterface
    interface Waiting {
        /** Returns when this has ended; until then it is known by that name. */
        void until(Object what, Work work);
    }

    /** Something that ends some time. */
    @FunctionalInterface
    interface Work {
        /** Waits for the end for so long at most, and returns whether it has come. */
        boolean endsWithin(Duration patience) throws InterruptedException;
    }

    private final List<Lifecycle> ascending;
    private volatile boolean closing;
    private volatile boolean mayWork;

    private LedBeans(List<Lifecycle> ascending) {
        this.ascending = ascending;
    }

    /** Finds those of an election. */
    static LedBeans of(String election, ListableBeanFactory beans) {
        return new LedBeans(List.of(beans.getBeanNamesForAnnotation(LeaderOnly.class)).stream()
                .filter(name -> election.equals(electionOf(name, beans)))
                .map(name -> lifecycle(name, beans))
                .sorted(Comparator.comparingInt(LedBeans::phase))
                .toList());
    }

    static String electionOf(String bean, ListableBeanFactory beans) {
        var annotation = beans.findAnnotationOnBean(bean, LeaderOnly.class);
        return annotation == null ? "" : ElectionNames.of(annotation, beans);
    }

    private static Lifecycle lifecycle(String name, ListableBeanFactory beans) {
        if (!(beans.getBean(name) instanceof Lifecycle lifecycle)) {
            throw new BeanCreationException(
                    name,
                    "@LeaderOnly on a class or bean method is for beans that are a Lifecycle: mark methods instead."
                            + " But if it is a listener of messages, let another @LeaderOnly bean that is a Lifecycle"
                            + " start and stop its container: docs/spring.md shows one");
        }
        if (lifecycle instanceof SmartLifecycle smart && smart.isAutoStartup()) {
            throw new BeanCreationException(
                    name,
                    "it is @LeaderOnly, but starts by itself: make isAutoStartup() return false, so that the election"
                            + " starts it");
        }
        return lifecycle;
    }

    /** The context stops: it stops these beans by itself, and they must not start again. */
    void closing() {
        closing = true;
    }

    /** The context that has stopped starts again, and with it all beans with a lifecycle, these too. */
    void starting() {
        mayWork = true;
    }

    /** Starts all, one after the other; then fails as the first that did not start. */
    void start(Mandate mandate) {
        var failures = new Failures();
        for (var bean : ascending) {
            if (closing || !mandate.isValid()) {
                break;
            }
            try {
                mayWork = true;
                if (!bean.isRunning()) {
                    bean.start();
                }
            } catch (RuntimeException e) {
                log.error("{} did not start under {}", bean, mandate, e);
                failures.add(e);
            }
        }
        failures.throwFirst();
    }

    /**
     * Stops all that run, one after the other, and waits for each; then fails as the first whose stop failed.
     *
     * @param insists whether to wait also until one whose stop failed runs no more
     */
    void stop(Waiting waiting, boolean insists) {
        var failures = new Failures();
        for (var i = ascending.size() - 1; i >= 0; i--) {
            var bean = ascending.get(i);
            try {
                if (bean.isRunning()) {
                    stop(bean, waiting);
                }
            } catch (RuntimeException e) {
                log.error("{} did not stop", bean, e);
                failures.add(e);
                if (insists) {
                    waiting.until(bean, new StoppedAgain(bean));
                }
            }
        }
        if (!closing) {
            mayWork = false;
        }
        failures.throwFirst();
    }

    /**
     * Returns whether threads of some may be at work: they have been started, and we do not know that all have stopped.
     * One that is stopping is no longer running by its own account, so we do not know of those that the context has
     * stopped. For any thread.
     */
    boolean mayWork() {
        return mayWork && !ascending.isEmpty();
    }

    private static void stop(Lifecycle bean, Waiting waiting) {
        if (!(bean instanceof SmartLifecycle smart)) {
            bean.stop();
            return;
        }
        var stopped = new CountDownLatch(1);
        smart.stop(stopped::countDown);
        waiting.until(bean, patience -> stopped.await(patience.toNanos(), TimeUnit.NANOSECONDS));
    }

    /** One whose stop failed is told again, once a second, until it does not run. */
    private static final class StoppedAgain implements Work {
        private final Lifecycle bean;
        private long toldNanos = System.nanoTime();

        private StoppedAgain(Lifecycle bean) {
            this.bean = bean;
        }

        @Override
        public boolean endsWithin(Duration patience) throws InterruptedException {
            TimeUnit.NANOSECONDS.sleep(patience.toNanos());
            if (bean.isRunning() && System.nanoTime() - toldNanos >= AGAIN_NANOS) {
                toldNanos = System.nanoTime();
                try {
                    tell();
                } catch (RuntimeException e) {
                    log.debug("{} did not stop again", bean, e);
                }
            }
            return !bean.isRunning();
        }

        private void tell() {
            if (bean instanceof SmartLifecycle smart) {
                smart.stop(() -> {}); // whether it runs is seen
            } else {
                bean.stop();
            }
        }
    }

    /** What happens to some does not keep the others from starting or stopping, and is told at the end. */
    private static final class Failures {
        private Optional<RuntimeException> first = Optional.empty();

        void add(RuntimeException failure) {
            first = first.or(() -> Optional.of(failure));
        }

        void throwFirst() {
            first.ifPresent(failure -> {
                throw failure;
            });
        }
    }

    private static int phase(Lifecycle bean) {
        return bean instanceof Phased phased ? phased.getPhase() : 0;
    }
}
