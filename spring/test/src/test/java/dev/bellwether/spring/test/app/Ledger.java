package dev.bellwether.spring.test.app;

import java.util.ArrayList;
import java.util.List;

/** What a test brings. */
class Ledger {
    final List<Long> tokens = new ArrayList<>();
}
