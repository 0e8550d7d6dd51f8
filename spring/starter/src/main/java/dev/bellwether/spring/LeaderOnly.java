package dev.bellwether.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs only while this process leads an election: with {@code bellwether.enabled=false}, never.
 *
 * <p><b>On a method</b>, which may be {@code @Scheduled}: a call while another process leads does nothing if the method
 * returns {@code void}, and otherwise throws {@link dev.bellwether.NotLeaderException}. A parameter of type
 * {@link dev.bellwether.Mandate} gets the present mandate, whatever the caller passes; a {@code @Scheduled} method
 * may have that one parameter. When the mandate is revoked, calls that are running may finish, and the successor waits
 * for them within the stand-down budget; half-way through it, and on fencing, their threads are interrupted. What a
 * {@code void} method throws after its mandate has ended is logged, not thrown. Transactions are inside: they have
 * ended when the call has.
 *
 * <p>While beans of the election run in this process, or have not stopped yet, {@code void} methods throw in these
 * cases too, unless they are {@code @Scheduled}: the caller may be a container, which would acknowledge a message that
 * nothing has dealt with. If the context has stopped these beans, that lasts until it starts again. On the threads
 * that stop beans, tell of events or end the context, these methods never throw in these cases.
 *
 * <p>As with all proxies of Spring, it works on calls from outside the bean: a call within the bean is not guarded, and
 * runs although another process leads. With {@code @Async} on the same method the asynchronous call is what runs only
 * while leading.
 *
 * <p>Refused when the bean is made: private, final and static methods; methods that continue after they have returned
 * (a future, a publisher, a {@code Callable}, a {@code Stream}, a suspending function); and listeners of messages
 * ({@code @KafkaListener} and the like), since a standby would acknowledge messages that nothing has dealt with.
 *
 * <p><b>On a class or a bean method</b>, of a bean that is a {@link org.springframework.context.Lifecycle}: the bean is
 * started when we begin to lead, after {@link AcquiredEvent} was heard, and stopped when we cease to, both in the order
 * of phases. It must not start by itself. The successor waits, within the stand-down budget, until {@link
 * org.springframework.context.SmartLifecycle#stop(Runnable)} has called back. So does the next term of this process,
 * however long that takes.
 */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface LeaderOnly {
    /**
     * The election; <code>${…}</code> stands for a property of the application. It need not be declared: then this
     * process stands in it with default settings.
     */
    String value();
}
