package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CausesTest {
    private final Exception deepest = new IllegalStateException("deepest");
    private final Exception middle = new IllegalStateException("middle", deepest);
    private final Exception first = new IllegalStateException("first", middle);

    @Test
    void causesComeOneBehindTheOther() {
        assertThat(Causes.of(first)).containsExactly(first, middle, deepest);
        assertThat(Causes.root(first)).isEqualTo(deepest);
        assertThat(Causes.root(deepest)).isEqualTo(deepest);
        assertThat(Causes.of(null)).isEmpty();
    }

    @Test
    void causesThatFormACircleComeToAnEnd() {
        deepest.initCause(middle);
        assertThat(Causes.of(first)).startsWith(first, middle, deepest, middle).hasSizeLessThan(100);
        assertThat(Causes.root(first)).isIn(middle, deepest);
        assertThat(Interrupts.caused(first)).isFalse();
    }
}
