package dev.bellwether.spring.test.app;

import org.springframework.stereotype.Component;

/** What has nothing to do with leading, and could not be made in a slice. */
@Component
class Unconcerned {
    Unconcerned() {
        throw new IllegalStateException("this needs a database, say");
    }
}
