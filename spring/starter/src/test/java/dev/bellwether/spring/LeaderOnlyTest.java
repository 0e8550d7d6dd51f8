package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.Candidacy;
import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import dev.bellwether.NotLeaderException;
import dev.bellwether.testkit.BellwetherExtension;
import dev.bellwether.testkit.ControlledElections;
import dev.bellwether.testkit.Eventually;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.URL;
import java.time.Duration;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import kotlin.coroutines.Continuation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.event.EventListener;
import org.springframework.javapoet.ClassName;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import reactor.core.publisher.Mono;

@ExtendWith(BellwetherExtension.class)
@Timeout(60)
class LeaderOnlyTest {
    /** What callers pass, who have no mandate: the present one is put in its place. */
    private static final Mandate NONE = new Mandate() {
        @Override
        public String election() {
            return "none";
        }

        @Override
        public String candidate() {
            return "nobody";
        }

        @Override
        public long token() {
            return -1;
        }

        @Override
        public boolean isValid() {
            return false;
        }

        @Override
        public Duration remaining() {
            return Duration.ZERO;
        }

        @Override
        public void ensure(Duration atLeast) {
            throw new NotLeaderException("this is no mandate");
        }
    };

    @Test
    void aCallRunsUnderTheMandateAndOtherwiseDoesNothing(ControlledElections controlled) {
        Contexts.controlled(controlled).withBean(Billing.class).run(context -> {
            var billing = context.getBean(Billing.class);
            billing.settle(NONE);
            assertThat(billing.tokens()).isEmpty();

            var election = controlled.election("billing");
            var token = election.acquire();
            billing.settle(NONE);
            assertThat(billing.tokens()).containsExactly(token);

            election.fence();
            billing.settle(NONE);
            assertThat(billing.tokens()).hasSize(1);
        });
    }

    @Test
    void aCallThatOwesAValueThrowsWhileSomebodyElseLeads(ControlledElections controlled) {
        Contexts.controlled(controlled).withBean(Billing.class).run(context -> {
            var billing = context.getBean(Billing.class);
            assertThatThrownBy(billing::count)
                    .isInstanceOf(NotLeaderException.class)
                    .hasMessageContaining("billing");
            controlled.election("billing").acquire();
            assertThat(billing.count()).isEqualTo(42);
        });
    }

    @Test
    void aRunningCallIsInterruptedOnFencingAndTheNextTermWaitsForIt(ControlledElections controlled) {
        Contexts.controlled(controlled).withBean(Billing.class).run(context -> {
            var billing = context.getBean(Billing.class);
            var election = controlled.election("billing");
            election.acquire();
            var call = CompletableFuture.supplyAsync(
                    () -> {
                        billing.block();
                        return Thread.currentThread().isInterrupted();
                    },
                    LeaderOnlyTest::inThread);
            billing.blocking().await();
            election.fence(); // returns when the call has ended
            assertThat(billing.interrupted()).isTrue();
            assertThat(call.get(30, TimeUnit.SECONDS))
                    .as("the interrupt follows the thread")
                    .isFalse();
            election.acquire();
        });
    }

    @Test
    void theSuccessorWaitsForARunningCallWhichIsInterruptedHalfWay() {
        var uri = "memory:" + UUID.randomUUID();
        try (var others = Elections.connect(uri)) {
            Contexts.plain()
                    .withPropertyValues(
                            "bellwether.uri=" + uri,
                            "bellwether.elections.billing.lease=60s",
                            "bellwether.elections.billing.stand-down-budget=10s") // five before, and five after
                    .withBean(Billing.class)
                    .run(context -> {
                        var billing = context.getBean(Billing.class);
                        var candidacy = context.getBean(Candidacies.class).of("billing");
                        Eventually.eventually("calls run", Contexts.PATIENCE, () -> {
                            billing.look(NONE);
                            return billing.token() == 1;
                        });
                        try (var successor = others.stand("billing")) {
                            var ledMeanwhile = new AtomicBoolean();
                            billing.onInterrupt(() -> ledMeanwhile.set(successor.isLeader()));
                            var call = CompletableFuture.runAsync(billing::block, LeaderOnlyTest::inThread);
                            billing.blocking().await();
                            candidacy.resign();
                            call.get(30, TimeUnit.SECONDS);
                            assertThat(billing.interrupted()).isTrue();
                            assertThat(ledMeanwhile).isFalse();
                            assertThat(successor.await(Contexts.PATIENCE)).isPresent();
                        }
                    });
        }
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void whatAVoidCallThrowsAfterItsMandateIsNotThrownButWarnedOf(ControlledElections controlled, CapturedOutput log) {
        Contexts.controlled(controlled).withBean(Billing.class).run(context -> {
            var billing = context.getBean(Billing.class);
            var election = controlled.election("billing");
            election.acquire();
            assertThatThrownBy(() -> billing.fail(() -> {})).hasMessage("planted");
            election.goSilent();
            billing.fail(() -> controlled.pause(Duration.ofMinutes(1)));
            assertThat(log.getAll()).contains("fail(java.lang.Runnable) failed while its mandate");
        });
    }

    @Test
    void scheduledMethodsRunOnlyWhileLeadingAndMayTakeTheMandate(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withUserConfiguration(WithScheduling.class)
                .withBean(Ticking.class)
                .run(context -> {
                    var ticking = context.getBean(Ticking.class);
                    Eventually.eventually("the clock ticks", Contexts.PATIENCE, () -> ticking.ticks() > 3);
                    assertThat(ticking.led()).isEmpty();
                    var token = controlled.election("clock").acquire();
                    Eventually.eventually(
                            "it ticks as leader",
                            Contexts.PATIENCE,
                            () -> ticking.led().size() > 1);
                    assertThat(ticking.led()).containsOnly(token);
                    controlled.election("clock").fence();
                    var led = ticking.led().size();
                    var ticks = ticking.ticks();
                    Eventually.eventually("time goes on", Contexts.PATIENCE, () -> ticking.ticks() > ticks + 3);
                    assertThat(ticking.led()).hasSize(led);
                });
    }

    @Test
    void aMethodThatNoProxyGuardsIsRefused(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Hidden.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasMessageContaining("hidden")
                        .hasMessageContaining("private, final or static"));
    }

    @Test
    void aMethodThatGoesOnAfterItHasReturnedIsRefused(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Lasting.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasMessageContaining("lasting")
                        .hasMessageContaining("its work continues after it has returned"));
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                Lasting.OfFlow.class,
                Lasting.OfReactor.class,
                Lasting.OfCallable.class,
                Lasting.OfStream.class,
                Lasting.OfNumbers.class,
                Lasting.OfCoroutine.class
            })
    <T> void whateverGoesOnAfterItHasReturnedIsRefused(Class<T> bean, ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasMessageContaining(bean.getName() + ".lasting(")
                        .hasMessageContaining("its work continues after it has returned")
                        .hasMessageContaining("return void, or the result itself"));
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                Listening.Plainly.class,
                Listening.Twice.class,
                Listening.BySomeOtherName.class,
                Listening.ByHandlers.class,
                Listening.ToTheDead.class
            })
    <T> void aListenerOfMessagesIsRefusedSinceAStandbyWouldLoseThem(Class<T> bean, ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasMessageContaining(bean.getName() + ".hear(")
                        .hasMessageContaining("a standby would acknowledge the messages and lose them")
                        .hasMessageContaining("autoStartup = \"false\""));
    }

    @Test
    void aClassThatListensIsNotToldToMarkItsMethods(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Listening.AsClass.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("for beans that are a Lifecycle")
                        .hasMessageContaining("a listener of messages"));
    }

    @Test
    void placeholdersStandForPropertiesInTheNamesOfElections(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withPropertyValues("tenant=acme")
                .withBean(OfTenant.class)
                .withBean(OfTenant.Part.class)
                .run(context -> {
                    assertThat(context.getBean(Candidacies.class).all())
                            .extracting(Candidacy::election)
                            .containsExactly("acme-billing");
                    var method = context.getBean(OfTenant.class);
                    assertThatThrownBy(method::count)
                            .isInstanceOf(NotLeaderException.class)
                            .hasMessageContaining("\"acme-billing\"");
                    controlled.election("acme-billing").acquire();
                    assertThat(method.count()).isEqualTo(42);
                    assertThat(context.getBean(OfTenant.Part.class).isRunning()).isTrue();
                });
    }

    @Test
    void aPlaceholderWithoutAValueIsRefused(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(OfTenant.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("${tenant}-billing")
                        .hasStackTraceContaining("tenant"));
    }

    @Test
    void whoPreparesMayCallWhatRunsUnderTheMandateAndNobodyElseYet(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Billing.class)
                .withBean(Preparing.class)
                .run(context -> {
                    var token = controlled.election("billing").acquire();
                    assertThat(context.getBean(Billing.class).tokens())
                            .as("the listener's own thread, and not the other's")
                            .containsExactly(token);
                    context.getBean(Billing.class).settle(NONE);
                    assertThat(context.getBean(Billing.class).tokens()).containsExactly(token, token);
                });
    }

    @Test
    void whatABeanBeginsWithMayRunUnderTheMandate(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Billing.class)
                .withBean(Consuming.class)
                .run(context -> {
                    var token = controlled.election("billing").acquire();
                    assertThat(context.getBean(Billing.class).tokens())
                            .as("of another thread, which has begun when the bean started")
                            .containsExactly(token);
                });
    }

    @Test
    void whatABeanCallsWhileTheMandateEndsIsNotPassedOverInSilence(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Billing.class)
                .withBean(Consuming.class)
                .run(context -> {
                    var billing = context.getBean(Billing.class);
                    var consuming = context.getBean(Consuming.class);
                    var election = controlled.election("billing");
                    election.acquire();
                    election.revoke();
                    assertThat(consuming.whenRevoked())
                            .as("when the mandate was revoked, and it had not stopped")
                            .isInstanceOf(NotLeaderException.class);
                    assertThat(consuming.whenStopping())
                            .as("when it was about to stop")
                            .isInstanceOf(NotLeaderException.class);
                    assertThat(billing.tokens()).hasSize(1);
                    billing.settle(NONE); // as ever: nothing runs that could lose by it
                });
    }

    @Test
    void whatABeanCallsAndFailsAsTheMandateEndsIsThrown(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Billing.class)
                .withBean(Consuming.class)
                .run(context -> {
                    var billing = context.getBean(Billing.class);
                    var begun = new CountDownLatch(1);
                    var goOn = new CompletableFuture<Boolean>();
                    var election = controlled.election("billing");
                    election.acquire();
                    Runnable slowly = () -> {
                        begun.countDown();
                        goOn.join();
                    };
                    var call = CompletableFuture.runAsync(() -> billing.fail(slowly), LeaderOnlyTest::inThread);
                    begun.await();
                    context.getBean(Consuming.class).onRevoked(() -> {
                        goOn.complete(true);
                        call.handle((nothing, failure) -> failure).join(); // the bean has not stopped yet
                    });
                    election.revoke();
                    assertThatThrownBy(() -> call.get(30, TimeUnit.SECONDS)).hasRootCauseMessage("planted");
                });
    }

    @ParameterizedTest
    @EnumSource
    void whatEndsWithTheMandateMayCallInVain(Ending ending, ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Billing.class)
                .withBean(Flushing.class)
                .run(context -> {
                    var flushing = context.getBean(Flushing.class);
                    var election = controlled.election("billing");
                    election.acquire();
                    switch (ending) {
                        case REVOKED -> election.revoke();
                        case FENCED -> election.fence();
                        case STOPPED_WITHOUT_A_MANDATE -> {
                            election.goSilent();
                            controlled.pause(Duration.ofMinutes(1));
                            context.stop();
                        }
                        case STARTED_AGAIN -> {
                            context.stop();
                            context.start();
                        }
                    }
                    assertThat(flushing.isRunning()).isFalse();
                    assertThat(flushing.failures()).isEmpty();
                    context.close();
                    assertThat(flushing.failures()).isEmpty();
                    assertThat(flushing.destroyed()).isTrue();
                });
    }

    enum Ending {
        REVOKED,
        FENCED,
        STOPPED_WITHOUT_A_MANDATE,
        STARTED_AGAIN
    }

    @Test
    void whatABeanCallsWhileTheContextStopsItIsNotPassedOverInSilence(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Billing.class)
                .withBean(Draining.class)
                .run(context -> {
                    var billing = context.getBean(Billing.class);
                    var draining = context.getBean(Draining.class);
                    var election = controlled.election("billing");
                    election.acquire();
                    context.getBean("bellwetherStanding", SmartLifecycle.class).stop();
                    draining.stop(() -> {}); // as Spring does it next
                    election.revoke();
                    assertThat(onItsThread(() -> billing.settle(NONE)))
                            .as("it works on, and says that it does not run")
                            .isInstanceOf(NotLeaderException.class);
                    context.getBean("bellwetherReleasing", SmartLifecycle.class).stop();
                    assertThat(onItsThread(() -> billing.settle(NONE)))
                            .as("Spring has waited for it long enough")
                            .isInstanceOf(NotLeaderException.class);
                    context.close();
                    assertThat(onItsThread(() -> billing.settle(NONE)))
                            .as("and has destroyed what the call needs")
                            .isNotNull();
                    assertThat(billing.tokens()).isEmpty();
                });
    }

    @Test
    void whatIsCalledWhileAStandbyStopsEndsInSilence(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Billing.class)
                .withBean(Idle.class)
                .run(context -> {
                    var billing = context.getBean(Billing.class);
                    context.getBean("bellwetherStanding", SmartLifecycle.class).stop();
                    assertThat(onItsThread(() -> billing.settle(NONE))).isNull();
                    context.getBean("bellwetherReleasing", SmartLifecycle.class).stop();
                    assertThat(onItsThread(() -> billing.settle(NONE))).isNull();
                });
    }

    @ParameterizedTest
    @ValueSource(classes = {Polling.class, PollingElsewhere.class})
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    <T extends Polling> void aContextThatStartsAgainWaitsForNoCall(Class<T> bean, ControlledElections controlled) {
        Contexts.controlled(controlled).withBean(Billing.class).withBean(bean).run(context -> {
            context.stop();
            context.start(); // by which Spring starts all beans with a lifecycle, whatever isAutoStartup() says
            assertThat(context.getBean(bean).isRunning()).isFalse();
            if (bean == Polling.class) {
                assertThat(context.getBean(bean).passedOver()).isZero();
            }
            var token = controlled.election("billing").acquire();
            context.getBean(Billing.class).settle(NONE);
            assertThat(context.getBean(Billing.class).tokens()).contains(token);
        });
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aContextCanStopThoughItsStartWaitsForABean(ControlledElections controlled) {
        Contexts.controlled(controlled).withBean(Draining.class).run(context -> {
            context.stop();
            inThread(context::start);
            var hasStopped = context.getBean(Draining.class).awaitStop();
            context.close();
            assertThat(context.isActive()).isFalse();
            hasStopped.run(); // so that nothing is left behind
        });
    }

    @Test
    void whatASchedulerCallsIsPassedOverInSilenceThoughABeanRuns(ControlledElections controlled) {
        Contexts.controlled(controlled)
                .withBean(Ticking.class)
                .withBean(Waiting.class)
                .run(context -> {
                    var election = controlled.election("clock");
                    var token = election.acquire();
                    election.revoke();
                    assertThat(context.getBean(Waiting.class).refusal())
                            .as("nobody waits for what a scheduler calls")
                            .isNull();
                    assertThat(context.getBean(Ticking.class).led()).containsExactly(token);
                });
    }

    @Test
    void anApplicationWithScheduledMethodsCanBeProcessedAheadOfTime() {
        var context = new AnnotationConfigApplicationContext();
        context.setClassLoader(new WithoutSpringKafka());
        TestPropertyValues.of("bellwether.uri=memory:" + UUID.randomUUID()).applyTo(context);
        context.register(BellwetherAutoConfiguration.class, WithScheduling.class, Ticking.class);
        var files = new InMemoryGeneratedFiles();
        var generation = new DefaultGenerationContext(
                new ClassNameGenerator(ClassName.get("dev.bellwether.spring", "Application")), files);
        new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
        generation.writeGeneratedContent();
        assertThat(files.getGeneratedFiles(GeneratedFiles.Kind.SOURCE).keySet())
                .anyMatch(name -> name.contains("MandateScheduling"));
    }

    @Test
    void switchedOffNothingRunsThatOnlyALeaderDoesAndTheApplicationStarts() {
        Contexts.plain()
                .withPropertyValues("bellwether.enabled=false", "bellwether.uri=etcd://127.0.0.1:1/nobody")
                .withUserConfiguration(WithScheduling.class)
                .withBean(Billing.class)
                .withBean(Ticking.class)
                .withBean(Idle.class)
                .run(context -> {
                    assertThat(context).hasNotFailed().doesNotHaveBean(Elections.class);
                    var billing = context.getBean(Billing.class);
                    billing.look(NONE);
                    assertThat(billing.token()).isZero();
                    assertThatThrownBy(billing::count)
                            .isInstanceOf(NotLeaderException.class)
                            .hasMessageContaining("bellwether.enabled=false");
                    var ticking = context.getBean(Ticking.class);
                    var ticks = ticking.ticks();
                    Eventually.eventually("others tick", Contexts.PATIENCE, () -> ticking.ticks() > ticks + 20);
                    assertThat(ticking.led()).isEmpty();
                    assertThat(context.getBean(Idle.class).isRunning()).isFalse();
                });
    }

    @Test
    void switchedOffABeanThatStartsByItselfIsRefusedAsEver() {
        Contexts.plain()
                .withPropertyValues("bellwether.enabled=false")
                .withBean(Eager.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasMessageContaining("it is @LeaderOnly, but starts by itself"));
    }

    /** Spring Kafka 3 tells of classes that are gone in Kafka 4, which we are tested with. */
    private static final class WithoutSpringKafka extends ClassLoader {
        WithoutSpringKafka() {
            super(LeaderOnlyTest.class.getClassLoader());
        }

        @Override
        public Enumeration<URL> getResources(String name) throws IOException {
            var all = Collections.list(super.getResources(name));
            all.removeIf(one -> one.getPath().contains("spring-kafka"));
            return Collections.enumeration(all);
        }
    }

    private static void inThread(Runnable work) {
        var thread = new Thread(work, "call");
        thread.setDaemon(true);
        thread.start();
    }

    static class Billing {
        private final List<Long> tokens = new CopyOnWriteArrayList<>();
        private final CountDownLatch blocking = new CountDownLatch(1);
        private final AtomicBoolean interrupted = new AtomicBoolean();
        private volatile Runnable onInterrupt = () -> {};
        private volatile long seen;

        @LeaderOnly("billing")
        void settle(Mandate mandate) {
            mandate.ensure();
            tokens.add(mandate.token());
        }

        @LeaderOnly("billing")
        int count() {
            return 42;
        }

        @LeaderOnly("billing")
        void look(Mandate mandate) {
            seen = mandate.token();
        }

        @LeaderOnly("billing")
        void block() {
            blocking.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                onInterrupt.run();
                interrupted.set(true);
                Thread.currentThread().interrupt();
            }
        }

        @LeaderOnly("billing")
        void fail(Runnable first) {
            first.run();
            throw new IllegalStateException("planted");
        }

        // a proxy has fields of its own: by methods we see those of the bean

        long token() {
            return seen;
        }

        List<Long> tokens() {
            return tokens;
        }

        CountDownLatch blocking() {
            return blocking;
        }

        boolean interrupted() {
            return interrupted.get();
        }

        void onInterrupt(Runnable reaction) {
            onInterrupt = reaction;
        }
    }

    static class Ticking {
        private final AtomicInteger ticks = new AtomicInteger();
        private final List<Long> led = new CopyOnWriteArrayList<>();

        @Scheduled(fixedDelay = 5)
        void tick() {
            ticks.incrementAndGet();
        }

        @Scheduled(fixedDelay = 5)
        @LeaderOnly("clock")
        void tickAsLeader(Mandate mandate) {
            led.add(mandate.token());
        }

        int ticks() {
            return ticks.get();
        }

        List<Long> led() {
            return led;
        }
    }

    @LeaderOnly("billing")
    static class Idle implements SmartLifecycle {
        private volatile boolean running;

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            running = false;
        }

        @Override
        public boolean isRunning() {
            return running;
        }

        @Override
        public boolean isAutoStartup() {
            return false;
        }
    }

    /** Has a thread that calls what only the leader does, as the container of a listener has one. */
    @LeaderOnly("billing")
    static class Consuming extends Idle {
        private final Billing billing;
        private volatile Runnable onRevoked = () -> {};
        private volatile @Nullable Throwable whenRevoked;
        private volatile @Nullable Throwable whenStopping;

        Consuming(Billing billing) {
            this.billing = billing;
        }

        @Override
        public void start() {
            super.start();
            onItsThread(() -> billing.settle(NONE));
        }

        @EventListener
        void revoked(RevokedEvent event) {
            onRevoked.run();
            whenRevoked = onItsThread(() -> billing.settle(NONE));
        }

        void onRevoked(Runnable reaction) {
            onRevoked = reaction;
        }

        @Override
        public void stop() {
            whenStopping = onItsThread(() -> billing.settle(NONE));
            super.stop();
        }

        @Nullable
        Throwable whenRevoked() {
            return whenRevoked;
        }

        @Nullable
        Throwable whenStopping() {
            return whenStopping;
        }
    }

    /** Calls what only the leader does when it is told to end. */
    @LeaderOnly("billing")
    static class Flushing extends Idle implements DisposableBean {
        private final Billing billing;
        private final List<Throwable> failures = new CopyOnWriteArrayList<>();
        private volatile boolean destroyed;

        Flushing(Billing billing) {
            this.billing = billing;
        }

        @EventListener
        void revoked(RevokedEvent event) {
            flush();
        }

        @EventListener
        void fenced(FencedEvent event) {
            flush();
        }

        @Override
        public void stop() {
            flush();
            super.stop();
        }

        @Override
        public void destroy() {
            flush();
            destroyed = true;
        }

        private void flush() {
            try {
                billing.look(NONE);
            } catch (NotLeaderException e) {
                failures.add(e);
                throw e;
            }
        }

        List<Throwable> failures() {
            return failures;
        }

        boolean destroyed() {
            return destroyed;
        }
    }

    /** Runs no longer by its own account as soon as it is told to stop, as a container of messages does. */
    @LeaderOnly("billing")
    static class Draining extends Idle {
        private final CompletableFuture<Runnable> stopping = new CompletableFuture<>();

        @Override
        public void stop(Runnable whenStopped) {
            stop();
            stopping.complete(whenStopped);
        }

        /** Waits until it is told to stop, and returns what tells that it has. */
        Runnable awaitStop() {
            return stopping.join();
        }
    }

    /** Has a thread that calls what only the leader does, again and again, and has stopped when that has ended. */
    @LeaderOnly("billing")
    static class Polling extends Idle {
        private final Billing billing;
        private final AtomicInteger passedOver = new AtomicInteger();
        private volatile Runnable whenStopped = () -> {};

        Polling(Billing billing) {
            this.billing = billing;
        }

        @Override
        public void start() {
            super.start();
            var polled = new CountDownLatch(1);
            inThread(() -> poll(polled));
            try {
                polled.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void poll(CountDownLatch polled) {
            while (isRunning()) {
                call();
                polled.countDown();
            }
            call(); // for the last message that it has taken over
            whenStopped.run();
        }

        private void call() {
            try {
                billing.settle(NONE);
                passedOver.incrementAndGet();
            } catch (NotLeaderException e) {
                // the message comes again
            }
        }

        @Override
        public void stop(Runnable whenStopped) {
            this.whenStopped = whenStopped;
            stop();
        }

        int passedOver() {
            return passedOver.get();
        }
    }

    /** Of an election that comes before the one that it calls. */
    @LeaderOnly("archive")
    static class PollingElsewhere extends Polling {
        PollingElsewhere(Billing billing) {
            super(billing);
        }
    }

    @LeaderOnly("clock")
    static class Waiting extends Idle {
        private final Ticking ticking;
        private volatile @Nullable Throwable refusal = new IllegalStateException("never called");

        Waiting(Ticking ticking) {
            this.ticking = ticking;
        }

        @Override
        public void start() {
            super.start();
            ticking.tickAsLeader(NONE);
        }

        @Override
        public void stop() {
            refusal = onItsThread(() -> ticking.tickAsLeader(NONE));
            super.stop();
        }

        @Nullable
        Throwable refusal() {
            return refusal;
        }
    }

    /** Runs it to its end on a thread of its own, and returns what that threw. */
    private static @Nullable Throwable onItsThread(Runnable work) {
        try {
            CompletableFuture.runAsync(work, LeaderOnlyTest::inThread).join();
            return null;
        } catch (CompletionException e) {
            return e.getCause();
        }
    }

    static class Eager extends Idle {
        @Override
        public boolean isAutoStartup() {
            return true;
        }
    }

    @EnableScheduling
    static class WithScheduling {}

    static class Hidden {
        @LeaderOnly("billing")
        final void hidden() {}
    }

    static class Lasting {
        @LeaderOnly("billing")
        CompletableFuture<String> lasting() {
            return CompletableFuture.completedFuture("done");
        }

        static class OfFlow {
            @LeaderOnly("billing")
            Flow.Publisher<String> lasting() {
                return new SubmissionPublisher<>();
            }
        }

        static class OfReactor {
            @LeaderOnly("billing")
            Mono<String> lasting() {
                return Mono.empty();
            }
        }

        static class OfCallable {
            @LeaderOnly("billing")
            Callable<String> lasting() {
                return () -> "done";
            }
        }

        static class OfStream {
            @LeaderOnly("billing")
            Stream<String> lasting() {
                return Stream.empty();
            }
        }

        static class OfNumbers {
            @LeaderOnly("billing")
            IntStream lasting() {
                return IntStream.empty();
            }
        }

        static class OfCoroutine {
            @LeaderOnly("billing")
            Object lasting(Continuation<String> then) {
                return then;
            }
        }
    }

    static class Listening {
        static class Plainly {
            @KafkaListener(topics = "bills")
            @LeaderOnly("billing")
            void hear(String message) {}
        }

        static class Twice {
            @KafkaListener(topics = "bills")
            @KafkaListener(topics = "invoices")
            @LeaderOnly("billing")
            void hear(String message) {}
        }

        @Retention(RetentionPolicy.RUNTIME)
        @KafkaListener(topics = "bills")
        @interface Bills {}

        static class BySomeOtherName {
            @Bills
            @LeaderOnly("billing")
            void hear(String message) {}
        }

        @KafkaListener(topics = "bills")
        static class ByHandlers {
            @KafkaHandler
            @LeaderOnly("billing")
            void hear(String message) {}
        }

        static class ToTheDead {
            @DltHandler
            @LeaderOnly("billing")
            void hear(String message) {}
        }

        @LeaderOnly("billing")
        static class AsClass {
            @KafkaListener(topics = "bills")
            void hear(String message) {}
        }
    }

    static class OfTenant {
        @LeaderOnly("${tenant}-billing")
        int count() {
            return 42;
        }

        @LeaderOnly("${tenant}-billing")
        static class Part extends Idle {}
    }

    static class Preparing {
        private final Billing billing;

        Preparing(Billing billing) {
            this.billing = billing;
        }

        @EventListener
        void prepare(AcquiredEvent event) {
            CompletableFuture.runAsync(() -> billing.settle(NONE), LeaderOnlyTest::inThread)
                    .join();
            billing.settle(NONE);
        }
    }
}
