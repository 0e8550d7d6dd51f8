package dev.bellwether.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.CandidacyConfig;
import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a URI says of the candidates of others. */
class OtherElectorsTest {
    @Test
    void theDefaultsAreThoseOfClientGo() {
        var rules = settings("k8s:x?beside=client-go").traits().others();
        assertThat(rules.lease()).isEqualTo(Duration.ofSeconds(15));
        assertThat(rules.grace()).isEqualTo(Duration.ofMillis(18_700));
        assertThat(rules.longestLease()).isEqualTo(Duration.ofSeconds(15));
        assertThat(settings("k8s:x").traits().others().apply()).isFalse();
    }

    @Test
    void besideClocksOfTheWallASecondIsTakenOff() {
        assertThat(settings("k8s:x?beside=fabric8").traits().others().longestLease())
                .isEqualTo(Duration.ofSeconds(14));
        assertThat(settings("k8s:x?beside=java").traits().others().longestLease())
                .isEqualTo(Duration.ofSeconds(14));
    }

    @Test
    void theirSettingsSayHowLongOneOfThemLeadsOn() {
        var rules = settings("k8s:x?beside=client-go&theirLease=60s&theirRenewDeadline=40s&theirRetryPeriod=5s")
                .traits()
                .others();
        assertThat(rules.grace()).isEqualTo(Duration.ofMillis(71_500));
        assertThat(rules.longestLease()).isEqualTo(Duration.ofSeconds(60));
    }

    /** One that is cut off has stopped before so long a lease is over; one that has released waits for the answer. */
    @Test
    void whateverTheirLeaseOneThatHasReleasedLeadsOnForARenewDeadline() {
        for (var lease : List.of("60s", "32s", "31s")) {
            var rules = settings("k8s:x?beside=client-go&theirLease=" + lease)
                    .traits()
                    .others();
            assertThat(rules.grace()).as(lease).isEqualTo(Duration.ofSeconds(11));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "beside=curator, 'beside is \"curator\": it must be client-go, fabric8 or java'",
        "theirLease=20s, theirLease is given without beside",
        "theirRetryPeriod=2s, theirRetryPeriod is given without beside",
        "beside=client-go&sharing=16, sharing and beside are both given",
        "beside=client-go&theirLease=soon, 'theirLease is \"soon\"'",
        "beside=client-go&theirLease=10s, each must be longer than the next",
        "beside=client-go&theirRenewDeadline=2s, each must be longer than the next",
        "beside=client-go&theirLease=4s&theirRenewDeadline=3s&theirRetryPeriod=1s, it must be 5 s at least",
        "beside=fabric8&theirLease=5s&theirRenewDeadline=3s&theirRetryPeriod=1s, it must be 6 s at least",
    })
    void whatCannotBeIsRefused(String parameters, String error) {
        assertThatThrownBy(() -> settings("k8s:x?" + parameters))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining(error);
    }

    @Test
    void theirsMustFindTheLeaseAndTellRenewalsApart() {
        var others = settings("k8s:x?beside=client-go").others().orElseThrow();
        others.check("billing", CandidacyConfig.ofLease(Duration.ofSeconds(5)));
        assertThatThrownBy(() -> others.check("Billing run", CandidacyConfig.defaults()))
                .hasMessageContaining("cannot be that of a Lease");
        assertThatThrownBy(() -> others.check("billing", CandidacyConfig.ofLease(Duration.ofSeconds(4))))
                .hasMessageContaining("lease 4 s is shorter than 5 s");
    }

    private static KubernetesSettings settings(String uri) {
        return KubernetesSettings.of(ConnectUri.parse(uri));
    }
}
