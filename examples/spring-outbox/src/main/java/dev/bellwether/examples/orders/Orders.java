package dev.bellwether.examples.orders;

import java.time.Instant;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** The orders. */
// tag::orders
@Service
class Orders {
    private final JdbcTemplate jdbc;
    private final ApplicationEventPublisher events;

    Orders(JdbcTemplate jdbc, ApplicationEventPublisher events) {
        this.jdbc = jdbc;
        this.events = events;
    }

    @Transactional
    public void place(String order, String item) {
        jdbc.update("INSERT INTO orders (id, item) VALUES (?, ?)", order, item);
        events.publishEvent(new OrderPlaced(order, item, Instant.now())); // goes to Kafka if this method commits
    }
}
// end::orders
