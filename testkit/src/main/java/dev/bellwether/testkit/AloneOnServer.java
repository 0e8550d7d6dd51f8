package dev.bellwether.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/** A fact that no other runs beside: it stops the server that all share, or counts what they leave there or here. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ResourceLock(value = AloneOnServer.SERVER, mode = ResourceAccessMode.READ_WRITE)
@interface AloneOnServer {
    /** What JUnit knows the server by. */
    String SERVER = "dev.bellwether.testkit.server";
}
