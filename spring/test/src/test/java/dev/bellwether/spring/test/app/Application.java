package dev.bellwether.spring.test.app;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** An application to be cut into slices. */
@SpringBootApplication
class Application {}
