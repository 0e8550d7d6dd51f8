package dev.bellwether.spring;

import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.core.Ordered;

/**
 * Hands over as soon as the context begins to close, and leaves where we do not lead. Schedulers and executors take no
 * more work from the same event on, long before anything with a lifecycle is stopped, so this must hear of it before
 * them. And in the default phase of Spring, in which ours leaves where a context only stops, others may stop before.
 */
final class HandOverFirst implements ApplicationListener<ContextClosedEvent>, Ordered {
    private final ApplicationContext context;
    private final Candidacies candidacies;

    HandOverFirst(ApplicationContext context, Candidacies candidacies) {
        this.context = context;
        this.candidacies = candidacies;
    }

    @Override
    public void onApplicationEvent(ContextClosedEvent event) {
        if (event.getApplicationContext() == context) { // and not one of its children, whose events come here, too
            candidacies.closing();
        }
    }

    /** The others must not hear of it meanwhile, whatever executor they have. */
    @Override
    public boolean supportsAsyncExecution() {
        return false;
    }

    @Override
    public int getOrder() {
        return HIGHEST_PRECEDENCE;
    }
}
