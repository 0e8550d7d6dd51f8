package dev.bellwether.spring.test.app;

import dev.bellwether.Mandate;
import dev.bellwether.spring.LeaderOnly;
import org.springframework.stereotype.Component;

/** What leads. */
@Component
class Billing {
    private final Ledger ledger;

    Billing(Ledger ledger) {
        this.ledger = ledger;
    }

    @LeaderOnly("billing")
    void settle(Mandate mandate) {
        ledger.tokens.add(mandate.token());
    }
}
