package dev.bellwether.spring.test.app;

import dev.bellwether.spring.LeaderOnly;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.springframework.context.SmartLifecycle;
import org.springframework.stereotype.Component;

/** What leads by what it extends or implements, or by an annotation of the application's. */
final class Indirect {
    private Indirect() {}

    abstract static class Job {
        @LeaderOnly("billing")
        void run() {}
    }

    interface Chore {
        @LeaderOnly("billing")
        void run();
    }

    @LeaderOnly("billing")
    @Retention(RetentionPolicy.RUNTIME)
    @interface OnlyLeaderOfBilling {}

    @Component
    static class Extending extends Job {}

    @Component
    static class Implementing implements Chore {
        @Override
        public void run() {}
    }

    @Component
    @OnlyLeaderOfBilling
    static class Marked implements SmartLifecycle {
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
}
