package dev.bellwether.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import dev.bellwether.Elections;
import dev.bellwether.Mandate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** ShedLock's annotations, as they are, with our provider behind them. */
class SchedulerLockTest {
    private static final String URI = "memory:" + UUID.randomUUID();

    @Test
    void annotatedMethodsRunUnderAMandateAndOneAtATime() throws InterruptedException {
        try (var others = Elections.connect(URI);
                var application = new AnnotationConfigApplicationContext(Application.class)) {
            var job = application.getBean(Job.class);
            job.run();
            job.run();
            assertThat(job.seen()).hasSize(2);
            assertThat(job.seen().get(1).token())
                    .isGreaterThan(job.seen().get(0).token());
            assertThat(job.seen())
                    .allSatisfy(mandate -> assertThat(mandate.election()).isEqualTo("report"));
            job.runLonger();
            assertThat(job.longer()).isTrue();
            assertThat(others.stand("report").await(Duration.ofSeconds(30))).isPresent();
            job.run();
            assertThat(job.seen()).as("runs while another leads \"report\"").hasSize(2);
        }
    }

    static class Job {
        private final List<Mandate> seen = new ArrayList<>();
        private boolean longer;

        public List<Mandate> seen() { // a proxy has fields of its own
            return seen;
        }

        public boolean longer() {
            return longer;
        }

        // tag::job
        @SchedulerLock(name = "report", lockAtMostFor = "10m")
        public void run() {
            var mandate = BellwetherLockProvider.mandate().orElseThrow();
            mandate.ensure();
            seen.add(mandate);
        }
        // end::job

        @SchedulerLock(name = "extended", lockAtMostFor = "10m")
        public void runLonger() {
            LockAssert.assertLocked();
            LockExtender.extendActiveLock(Duration.ofMinutes(20), Duration.ZERO);
            LockAssert.assertLocked();
            BellwetherLockProvider.mandate().orElseThrow().ensure();
            longer = true;
        }
    }

    @Configuration
    @EnableSchedulerLock(defaultLockAtMostFor = "10m")
    static class Application {
        // tag::provider
        @Bean
        Elections elections() {
            return Elections.connect(URI);
        }

        @Bean
        LockProvider lockProvider(Elections elections) {
            return new BellwetherLockProvider(elections);
        }
        // end::provider

        @Bean
        Job job() {
            return new Job();
        }
    }
}
