package dev.bellwether.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.util.ClassUtils;

/** Refuses methods that cannot be {@link LeaderOnly}, when their bean is made. */
final class LeaderOnlyChecks {
    private static final List<Class<?>> LASTING =
            List.of(Future.class, CompletionStage.class, Flow.Publisher.class, Callable.class, BaseStream.class);

    /** Those of libraries that the application need not have. */
    private static final Set<String> ALSO_LASTING = Set.of(
            "org.reactivestreams.Publisher",
            "org.springframework.web.context.request.async.DeferredResult",
            "org.springframework.web.context.request.async.WebAsyncTask",
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
            "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

    /** What makes a method get messages, which count as dealt with when it returns. */
    private static final List<String> LISTENING = List.of(
            "org.springframework.kafka.annotation.KafkaListener",
            "org.springframework.kafka.annotation.KafkaHandler",
            "org.springframework.kafka.annotation.DltHandler",
            "org.springframework.amqp.rabbit.annotation.RabbitListener",
            "org.springframework.amqp.rabbit.annotation.RabbitHandler",
            "org.springframework.jms.annotation.JmsListener",
            "org.springframework.pulsar.annotation.PulsarListener",
            "io.awspring.cloud.sqs.annotation.SqsListener",
            "io.awspring.cloud.sqs.annotation.SqsHandler",
            "org.springframework.integration.annotation.ServiceActivator",
            "org.springframework.modulith.events.ApplicationModuleListener");

    private LeaderOnlyChecks() {}

    /** Refuses a method of a bean, unless a call of it can be let through or not, and ended with its mandate. */
    static void check(Method method, String bean) {
        if (Modifier.isPrivate(method.getModifiers())
                || Modifier.isFinal(method.getModifiers())
                || Modifier.isStatic(method.getModifiers())) {
            throw new BeanCreationException(
                    bean, method + " is @LeaderOnly, but there can be no proxy for a private, final or static method");
        }
        lasting(method).ifPresent(what -> {
            throw new BeanCreationException(
                    bean,
                    method + " is @LeaderOnly, but " + what + ": its work continues after it has returned, when nothing"
                            + " can end it with the mandate. Let it do all of its work before it returns (join(),"
                            + " block(), forEach()), and return void, or the result itself");
        });
        listening(method).ifPresent(what -> {
            throw new BeanCreationException(
                    bean,
                    method + " is @LeaderOnly and a @" + what + ": a standby would acknowledge the messages and lose"
                            + " them. Take @LeaderOnly off it, give the listener autoStartup = \"false\", and let a"
                            + " @LeaderOnly bean that is a Lifecycle start and stop its container: docs/spring.md"
                            + " shows one");
        });
    }

    private static Optional<String> lasting(Method method) {
        var parameters = method.getParameterTypes();
        if (parameters.length > 0
                && parameters[parameters.length - 1].getName().equals("kotlin.coroutines.Continuation")) {
            return Optional.of("it is a suspending function");
        }
        var type = method.getReturnType();
        var continues = LASTING.stream().anyMatch(lasting -> lasting.isAssignableFrom(type))
                || isOf(ALSO_LASTING, type)
                || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
        return continues ? Optional.of("it returns " + type.getSimpleName()) : Optional.empty();
    }

    private static boolean isOf(Set<String> names, @Nullable Class<?> type) {
        return type != null
                && (names.contains(type.getName())
                        || isOf(names, type.getSuperclass())
                        || Stream.of(type.getInterfaces()).anyMatch(each -> isOf(names, each)));
    }

    private static Optional<String> listening(Method method) {
        var annotations = MergedAnnotations.from(method, MergedAnnotations.SearchStrategy.TYPE_HIERARCHY);
        return LISTENING.stream().filter(annotations::isPresent).findFirst().map(ClassUtils::getShortName);
    }
}
