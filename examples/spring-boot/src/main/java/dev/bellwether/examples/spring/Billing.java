package dev.bellwether.examples.spring;

import dev.bellwether.Mandate;
import dev.bellwether.spring.AcquiredEvent;
import dev.bellwether.spring.LeaderOnly;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Settles while it leads, and hands its token to the table, which could refuse a lower one. */
// tag::billing
@Component
class Billing {
    private static final Logger log = LoggerFactory.getLogger(Billing.class);

    private final JdbcTemplate jdbc;

    Billing(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    @EventListener
    void prepare(AcquiredEvent event) {
        log.info("leading, token {}", event.mandate().token());
        jdbc.execute("CREATE TABLE IF NOT EXISTS settled (token bigint)");
    }

    @Scheduled(fixedDelay = 100)
    @LeaderOnly("billing")
    void settle(Mandate mandate) {
        jdbc.update("INSERT INTO settled VALUES (?)", mandate.token());
    }
}
// end::billing
