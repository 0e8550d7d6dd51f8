package dev.bellwether.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Candidate;
import dev.bellwether.Elections;
import dev.bellwether.LockConfig;
import dev.bellwether.RunLock;
import dev.bellwether.shedlock.BellwetherLockProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Locks for one run in an application: by name, by its properties, and through ShedLock. */
@Timeout(60)
class LocksTest {
    private final String uri = "memory:" + UUID.randomUUID();

    // tag::report
    @Component
    static class NightlyReport {
        private final RunLock lock;
        private final List<Long> written = new ArrayList<>();

        NightlyReport(Locks locks) {
            lock = locks.named("nightly-report");
        }

        @Scheduled(cron = "0 0 2 * * *")
        void write() throws InterruptedException {
            lock.tryRun(mandate -> written.add(mandate.token()));
        }
    }
    // end::report

    @Test
    void aJobRunsInOneApplicationAndItsSeatIsKeptFree() {
        Contexts.plain()
                .withUserConfiguration(NightlyReport.class)
                .withPropertyValues(
                        "bellwether.uri=" + uri,
                        "bellwether.candidate=me",
                        "bellwether.locks.nightly-report.at-least=2s",
                        "bellwether.locks.nightly-report.lease=3s")
                .run(context -> {
                    var report = context.getBean(NightlyReport.class);
                    var before = System.nanoTime();
                    report.write();
                    report.write(); // as in another process whose clock is late: the seat is kept for two seconds
                    assertThat(report.written).hasSize(1);
                    try (var other = Elections.connect(uri)) {
                        var seat = other.election("nightly-report");
                        assertThat(seat.leader().orElseThrow().candidate()).startsWith("me");
                        var answer = other.lock("nightly-report").tryLock(Contexts.PATIENCE);
                        assertThat(answer.isHeld()).isTrue();
                        assertThat(Duration.ofNanos(System.nanoTime() - before)).isGreaterThan(Duration.ofSeconds(2));
                    }
                });
    }

    @Test
    void everySettingReachesItsLock() {
        Contexts.plain()
                .withPropertyValues(
                        "bellwether.uri=" + uri,
                        "bellwether.metadata.zone=north",
                        "bellwether.locks.report.lease=20s",
                        "bellwether.locks.report.renew-interval=3s",
                        "bellwether.locks.report.stand-down-budget=2s",
                        "bellwether.locks.report.at-least=15s")
                .run(context -> {
                    var properties = context.getBean(BellwetherProperties.class);
                    var config = properties.lock("report");
                    assertThat(config.atLeast()).isEqualTo(Duration.ofSeconds(15));
                    assertThat(config.candidacy().lease()).isEqualTo(Duration.ofSeconds(20));
                    assertThat(config.candidacy().renewInterval()).isEqualTo(Duration.ofSeconds(3));
                    assertThat(config.candidacy().standDownBudget()).isEqualTo(Duration.ofSeconds(2));
                    assertThat(config.candidacy().metadata()).containsEntry("zone", "north");
                    var undeclared = properties.lock("undeclared");
                    assertThat(undeclared.atLeast()).isZero();
                    assertThat(undeclared.candidacy().lease())
                            .isEqualTo(LockConfig.defaults().candidacy().lease());
                    assertThat(context.getBean(Candidacies.class).all())
                            .as("who stands for a seat all the time")
                            .isEmpty();
                });
    }

    @Test
    void shedLockGetsItsLocksFromTheElectionsWithTheSettingsOfTheirNames() {
        Contexts.plain()
                .withPropertyValues("bellwether.uri=" + uri, "bellwether.locks.weighty.priority=7")
                .run(context -> {
                    var provider = context.getBean(LockProvider.class);
                    var tasks = new DefaultLockingTaskExecutor(provider);
                    var tokens = new ArrayList<Long>();
                    try (var other = Elections.connect(uri)) {
                        Runnable task = () -> {
                            tokens.add(BellwetherLockProvider.mandate()
                                    .orElseThrow()
                                    .token());
                            assertThat(other.election("report").leader()).isPresent();
                        };
                        tasks.executeWithLock(task, configuration("report"));
                        tasks.executeWithLock(task, configuration("report"));
                        assertThat(tokens).hasSize(2).isSorted().doesNotHaveDuplicates();
                        assertThat(other.election("report").leader()).isEmpty();
                        var weighty = provider.lock(configuration("weighty")).orElseThrow();
                        assertThat(other.election("weighty").state().candidates())
                                .extracting(Candidate::priority)
                                .containsExactly(7);
                        weighty.unlock();
                    }
                });
    }

    private static LockConfiguration configuration(String name) {
        return new LockConfiguration(ClockProvider.now(), name, Duration.ofMinutes(5), Duration.ZERO);
    }

    @Test
    void aProviderOfTheApplicationsOwnStays() {
        LockProvider own = configuration -> Optional.empty();
        Contexts.plain()
                .withPropertyValues("bellwether.uri=" + uri)
                .withBean(LockProvider.class, () -> own)
                .run(context -> assertThat(context.getBean(LockProvider.class)).isSameAs(own));
    }

    @Test
    void switchedOffNothingLocksByElectionsOfTheApplicationsOwn() {
        try (var elections = Elections.connect(uri)) {
            Contexts.plain()
                    .withPropertyValues("bellwether.enabled=false")
                    .withBean(Elections.class, () -> elections)
                    .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockProvider.class));
        }
    }
}
