package dev.bellwether.spring;

import dev.bellwether.outbox.Message;
import java.net.URI;
import java.time.Instant;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.SimpleEvaluationContext;

/** Which messages the events of one class make, as its {@link OutboxEvent} says. Immutable. */
final class EventRoute {
    private static final SpelExpressionParser PARSER = new SpelExpressionParser();
    /** What expressions may do: read the event and call its methods, and nothing else. */
    private static final SimpleEvaluationContext READING = SimpleEvaluationContext.forReadOnlyDataBinding()
            .withInstanceMethods()
            .build();

    private static final String CONTENT_TYPE = "content-type";

    private final Class<?> event;
    private final String topic;
    private final @Nullable Expression key;
    private final @Nullable Expression payload;
    private final String type;

    private EventRoute(Class<?> event, OutboxEvent says, UnaryOperator<String> placeholders) {
        this.event = event;
        topic = placeholders.apply(says.topic());
        key = parse("key", says.key());
        payload = parse("payload", says.payload());
        var name = event.getCanonicalName();
        type = !says.type().isEmpty() ? says.type() : name == null ? event.getName() : name;
    }

    /**
     * Returns the route of a class's events, if they have one.
     *
     * @param placeholders puts values in place of placeholders
     */
    static Optional<EventRoute> of(Class<?> event, UnaryOperator<String> placeholders) {
        return Optional.ofNullable(AnnotatedElementUtils.findMergedAnnotation(event, OutboxEvent.class))
                .map(says -> new EventRoute(event, says, placeholders));
    }

    /**
     * Returns the message of an event.
     *
     * @param source the source of CloudEvents, if messages are to be that
     */
    Message.Builder message(Object told, Instant when, EventSerializers serializers, Optional<URI> source) {
        var headers = new RecordHeaders();
        var message = Message.to(topic);
        if (key != null) {
            message.key(serializers.key(topic, headers, required(evaluate("key", key, told))));
        }
        var content = payload == null ? told : evaluate("payload", payload, told);
        if (content != null) {
            message.value(serializers.value(topic, headers, content));
            serializers
                    .contentType()
                    .filter(known -> headers.lastHeader(CONTENT_TYPE) == null)
                    .ifPresent(known -> message.header(CONTENT_TYPE, known));
        }
        headers.forEach(header -> message.header(header.key(), header.value()));
        source.ifPresent(uri -> message.cloudEvent(uri, type, when));
        return message;
    }

    private @Nullable Expression parse(String part, String expression) {
        try {
            return expression.isEmpty() ? null : PARSER.parseExpression(expression);
        } catch (ParseException e) {
            throw new IllegalStateException(describe(part, expression) + " is no expression: " + e.getMessage(), e);
        }
    }

    private @Nullable Object evaluate(String part, Expression expression, Object told) {
        try {
            return expression.getValue(READING, told);
        } catch (EvaluationException e) {
            throw new IllegalStateException(
                    describe(part, expression.getExpressionString()) + " has no value: " + e.getMessage(), e);
        }
    }

    private Object required(@Nullable Object found) {
        if (found == null) {
            throw new IllegalStateException(describe("key", key == null ? "" : key.getExpressionString())
                    + " is null: records without a key have no order. Leave out the key of @OutboxEvent if"
                    + " they need none");
        }
        return found;
    }

    private String describe(String part, String expression) {
        return "the " + part + " \"" + expression + "\" of event " + event.getName();
    }
}
