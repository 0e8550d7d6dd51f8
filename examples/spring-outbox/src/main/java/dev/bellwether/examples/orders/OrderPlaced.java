package dev.bellwether.examples.orders;

import dev.bellwether.spring.OutboxEvent;
import java.time.Instant;

/** Somebody has placed an order. */
// tag::event
@OutboxEvent(topic = "orders", key = "order", type = "com.example.order.placed")
record OrderPlaced(String order, String item, Instant placed) {}
// end::event
