package dev.bellwether.spring;

import java.net.URI;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.PayloadApplicationEvent;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Stashes {@linkplain OutboxEvent events} when they are published, on the thread that does. Not at the commit: who
 * rolls back to a savepoint takes back these events, too, and what cannot be written fails where it was published.
 *
 * <p>Thread-safe. Its collaborators are asked for only when there is an event for them: listeners are made before
 * other beans.
 */
final class OutboxEventListener implements ApplicationListener<ApplicationEvent> {
    private final Supplier<TransactionalOutbox> outbox;
    private final Supplier<EventSerializers> serializers;
    private final Supplier<List<OutboxAutoConfiguration.MessageCustomizer>> customizers;
    private final UnaryOperator<String> placeholders;
    private final Optional<URI> source;
    private final Map<Class<?>, Optional<EventRoute>> routes = new ConcurrentHashMap<>();

    OutboxEventListener(
            Supplier<TransactionalOutbox> outbox,
            Supplier<EventSerializers> serializers,
            Supplier<List<OutboxAutoConfiguration.MessageCustomizer>> customizers,
            UnaryOperator<String> placeholders,
            Optional<URI> source) {
        this.outbox = outbox;
        this.serializers = serializers;
        this.customizers = customizers;
        this.placeholders = placeholders;
        this.source = source;
    }

    @Override
    public void onApplicationEvent(ApplicationEvent event) {
        var told = event instanceof PayloadApplicationEvent<?> wrapped ? wrapped.getPayload() : event;
        routes.computeIfAbsent(told.getClass(), type -> EventRoute.of(type, placeholders))
                .ifPresent(route -> stash(route, told, Instant.ofEpochMilli(event.getTimestamp())));
    }

    private void stash(EventRoute route, Object told, Instant when) {
        if (!TransactionSynchronizationManager.isActualTransactionActive()) {
            throw new IllegalStateException("event " + told.getClass().getName()
                    + " was published outside a transaction: put @Transactional on the method that publishes it, so"
                    + " that it goes to Kafka if and only if its data is committed");
        }
        var message = route.message(told, when, serializers.get(), source);
        customizers.get().forEach(customizer -> customizer.customize(told, message));
        outbox.get().stash(message.build());
    }

    /** In the transaction of the thread that publishes, whatever executor other listeners have. */
    @Override
    public boolean supportsAsyncExecution() {
        return false;
    }
}
