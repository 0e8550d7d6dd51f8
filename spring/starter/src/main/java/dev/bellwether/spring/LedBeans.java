package dev.bellwether.spring;

import dev.bellwether.Mandate;
import java.lang.reflect.UndeclaredThrowableException;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.Lifecycle;
import org.springframework.context.Phased;
import org.springframework.context.SmartLifecycle;

/**
 * The {@link LeaderOnly} beans of one election: started while we lead, in the order of their phases. Those that did not
 * start are started again while that mandate holds, with growing pauses. Confined to the listener, but for
 * {@link #mayWork}, {@link #closing}, {@link #starting} and {@link #unstarted}; and what starts beans again ends before
 * the listener stops any.
 */
final class LedBeans {
    private static final Logger log = LoggerFactory.getLogger(LeaderOnly.class);
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

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

    private final List<Led> ascending;
    /** Those that did not start in this term, and why. */
    private final Map<String, Throwable> unstarted = new ConcurrentSkipListMap<>();

    private volatile boolean closing;
    private volatile boolean mayWork;
    private @Nullable StartedAgain again;

    /** One of the beans, and its name. */
    private static final class Led {
        private final String name;
        private final Supplier<Lifecycle> now;
        private Lifecycle bean; // who starts it again does so between the turns of the listener

        private Led(String name, Supplier<Lifecycle> now) {
            this.name = name;
            this.now = now;
            bean = now.get();
        }

        private int phase() {
            return bean instanceof Phased phased ? phased.getPhase() : 0;
        }

        /** Returns whether it runs. If not, it is from here on what its scope has made of it since. */
        private boolean runs() {
            if (bean.isRunning()) {
                return true;
            }
            var before = bean;
            bean = now.get();
            return bean != before && bean.isRunning();
        }
    }

    private LedBeans(List<Led> ascending) {
        this.ascending = ascending;
    }

    /** Finds those of an election. */
    static LedBeans of(String election, ListableBeanFactory beans) {
        var all = List.of(beans.getBeanNamesForAnnotation(LeaderOnly.class));
        return new LedBeans(all.stream()
                .filter(name -> !all.contains(ScopedProxyUtils.getTargetBeanName(name))) // not the proxy beside it
                .filter(name -> election.equals(electionOf(name, beans)))
                .map(name -> led(name, beans))
                .sorted(Comparator.comparingInt(Led::phase))
                .toList());
    }

    /** What a proxy is for may be replaced at any time, and what was started must be stopped. */
    private static Led led(String name, ListableBeanFactory beans) {
        if (ScopedProxyUtils.isScopedTarget(name)) {
            return new Led(name, () -> lifecycle(name, beans));
        }
        var bean = lifecycle(name, beans);
        return new Led(name, () -> bean);
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

    /**
     * Refuses a bean that the context would start although this process may not lead: with a bean that starts by itself
     * it starts those that it depends on, except a SmartLifecycle whose isAutoStartup() is false.
     */
    static void requireStartedByNoOther(ConfigurableListableBeanFactory beans) {
        for (var name : beans.getBeanNamesForAnnotation(LeaderOnly.class)) {
            if (beans.getSingleton(name) instanceof Lifecycle lifecycle && !(lifecycle instanceof SmartLifecycle)) {
                startedWith(name, beans, new HashSet<>()).ifPresent(other -> {
                    throw new BeanCreationException(
                            name,
                            "it is @LeaderOnly, but the context starts it with " + other + ", which depends on it and"
                                    + " starts by itself: make it a SmartLifecycle whose isAutoStartup() returns"
                                    + " false, so that the election starts it");
                });
            }
        }
    }

    /** Returns a bean that starts by itself, and with which this one is started. */
    private static Optional<String> startedWith(String name, ConfigurableListableBeanFactory beans, Set<String> seen) {
        for (var dependent : beans.getDependentBeans(name)) {
            if (seen.add(dependent) && beans.getSingleton(dependent) instanceof Lifecycle lifecycle) {
                var starter = lifecycle instanceof SmartLifecycle smart && smart.isAutoStartup()
                        ? Optional.of(dependent)
                        : startedWith(dependent, beans, seen);
                if (starter.isPresent()) {
                    return starter;
                }
            }
        }
        return Optional.empty();
    }

    /** The context stops: it stops these beans by itself, and they must not start again. */
    void closing() {
        closing = true;
    }

    /** The context that has stopped starts again, and with it all beans with a lifecycle, these too. */
    void starting() {
        mayWork = true;
    }

    /** Returns the names of the beans that did not start in this term, and why. For any thread. */
    Map<String, Throwable> unstarted() {
        return unstarted;
    }

    /**
     * Starts all, one after the other; then fails as the first that did not start. Those are started again.
     *
     * @param asOurs what runs the work of the thread that starts them again
     * @param giveUp what lets another process try, if there is no such thread
     */
    void start(Mandate mandate, Consumer<Runnable> asOurs, Runnable giveUp) {
        var failures = new Failures();
        ascending.forEach(each -> start(each, mandate).ifPresent(failures::add));
        if (!unstarted.isEmpty()) {
            try {
                again = new StartedAgain(mandate, asOurs);
            } catch (OutOfMemoryError e) { // maybe what kept them from starting
                log.error("{} cannot be started again, for lack of a thread: standing down", unstarted.keySet(), e);
                giveUp.run();
            }
        }
        failures.throwFirst();
    }

    /** Starts a bean that does not run, and returns why it did not start. */
    private Optional<Throwable> start(Led led, Mandate mandate) {
        if (closing || !mandate.isValid()) {
            return Optional.empty();
        }
        try {
            mayWork = true;
            if (!led.runs()) {
                led.bean.start();
            }
            unstarted.remove(led.name);
            return Optional.empty();
        } catch (Throwable e) { // an Error of one keeps none of the others from starting, nor from stopping below
            log.error("{} did not start under {}", led.name, mandate, e);
            unstarted.put(led.name, e);
            return Optional.of(e);
        }
    }

    /**
     * Stops all that run, one after the other, and waits for each; then fails as the first whose stop failed.
     *
     * @param insists whether to wait also until one whose stop failed runs no more
     */
    void stop(Waiting waiting, boolean insists) {
        var starting = again;
        if (starting != null) {
            again = null;
            starting.end();
            waiting.until("the start of a bean", starting);
        }
        unstarted.clear();
        var failures = new Failures();
        for (var i = ascending.size() - 1; i >= 0; i--) {
            var led = ascending.get(i);
            try {
                if (led.bean.isRunning()) {
                    stop(led, waiting);
                }
            } catch (Throwable e) {
                log.error("{} did not stop", led.name, e);
                failures.add(e);
                if (insists) {
                    waiting.until(led.name, new StoppedAgain(led));
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

    private static void stop(Led led, Waiting waiting) {
        if (!(led.bean instanceof SmartLifecycle smart)) {
            led.bean.stop();
            return;
        }
        var stopped = new CountDownLatch(1);
        smart.stop(stopped::countDown);
        waiting.until(led.name, patience -> stopped.await(patience.toNanos(), TimeUnit.NANOSECONDS));
    }

    /** Starts what did not start, on a thread of its own: the listener is to hear of the end of the mandate. */
    private final class StartedAgain implements Work {
        private final CountDownLatch over = new CountDownLatch(1);
        private final Thread thread;

        private StartedAgain(Mandate mandate, Consumer<Runnable> asOurs) {
            thread =
                    new Thread(() -> asOurs.accept(() -> run(mandate)), "bellwether-start-again-" + mandate.election());
            thread.setDaemon(true);
            thread.start();
        }

        private void run(Mandate mandate) {
            try {
                for (var pause = FIRST_PAUSE; isWanted(mandate) && !endsAfter(pause); pause = longer(pause)) {
                    ascending.stream()
                            .filter(led -> unstarted.containsKey(led.name))
                            .forEach(led -> start(led, mandate));
                }
            } catch (InterruptedException e) {
                log.debug("no bean is started again: interrupted");
            }
        }

        private boolean isWanted(Mandate mandate) {
            return !unstarted.isEmpty() && !closing && mandate.isValid();
        }

        private boolean endsAfter(Duration pause) throws InterruptedException {
            return over.await(pause.toNanos(), TimeUnit.NANOSECONDS);
        }

        private static Duration longer(Duration pause) {
            var twice = pause.multipliedBy(2);
            return twice.compareTo(LONGEST_PAUSE) < 0 ? twice : LONGEST_PAUSE;
        }

        /** Begins no further start. */
        private void end() {
            over.countDown();
        }

        @Override
        public boolean endsWithin(Duration patience) throws InterruptedException {
            try {
                thread.join(patience.toMillis());
            } catch (InterruptedException e) {
                thread.interrupt();
                throw e;
            }
            return !thread.isAlive();
        }
    }

    /** One whose stop failed is told again, once a second, until it does not run. */
    private static final class StoppedAgain implements Work {
        private final String name;
        private final Lifecycle bean;
        private long toldNanos = System.nanoTime();

        private StoppedAgain(Led led) {
            name = led.name;
            bean = led.bean;
        }

        @Override
        public boolean endsWithin(Duration patience) throws InterruptedException {
            TimeUnit.NANOSECONDS.sleep(patience.toNanos());
            if (mayRun() && System.nanoTime() - toldNanos >= AGAIN_NANOS) {
                toldNanos = System.nanoTime();
                try {
                    tell();
                } catch (Throwable e) {
                    log.debug("{} did not stop again", name, e);
                }
            }
            return !mayRun();
        }

        /** Nobody knows of one that fails to say it: then it is told to stop. */
        private boolean mayRun() {
            try {
                return bean.isRunning();
            } catch (Throwable e) {
                log.debug("{} does not say whether it runs", name, e);
                return true;
            }
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
        private Optional<Throwable> first = Optional.empty();

        void add(Throwable failure) {
            first = first.or(() -> Optional.of(failure));
        }

        void throwFirst() {
            first.ifPresent(failure -> {
                if (failure instanceof Error error) {
                    throw error;
                }
                throw failure instanceof RuntimeException unchecked
                        ? unchecked
                        : new UndeclaredThrowableException(failure); // as Kotlin may throw it
            });
        }
    }
}
