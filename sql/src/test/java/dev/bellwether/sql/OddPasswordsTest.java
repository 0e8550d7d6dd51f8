package dev.bellwether.sql;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a driver takes for a host or a port, of a password that was not encoded, is not shown. */
@Timeout(60)
class OddPasswordsTest {

    @ParameterizedTest
    @ValueSource(strings = {"pa55/w0rd", "pa55#w0rd", "pa55,w0rd"})
    void connectorJRepeatsAPartAndIsNotQuoted(String password) {
        assertThatThrownBy(() -> Elections.connect("jdbc:mysql://app:" + password + "@127.0.0.1:1/app"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("jdbc:mysql://app:***@127.0.0.1:1/app")
                .hasMessageNotContainingAny("pa55", "w0rd");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "(host=127.0.0.1,port=1,user=u,password=pa55)",
                "[127.0.0.1:1,(host=127.0.0.1,port=1,password=pa55)]",
                "address=(host=127.0.0.1)(port=x)(password=pa55)"
            })
    void aPasswordInParenthesesIsNotShown(String hosts) {
        assertThatThrownBy(() -> Elections.connect("jdbc:mysql://" + hosts + "/app"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("password=***)")
                .hasMessageNotContaining("pa55");
    }
}
