package dev.bellwether.cli;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.spi.ConnectUri;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Here all backends are on the class path: each says in the same words what is wrong with a parameter. */
class UriParametersTest {
    @ParameterizedTest
    @CsvSource({
        "jdbc:postgresql://db/app, bellwether.createTable",
        "jdbc:postgresql://db/app, bellwether.listen",
        "kafka://broker:9092, topic.create",
        "zk://one:2181, createElections",
        "nats://host:4222, create",
        "nats://host:4222, choria",
        "etcd://host:2379/elections, tls",
        "consul://host:8500/elections, tls",
        "dynamodb://eu-west-1/elections, create"
    })
    void whatMustBeTrueOrFalseIsRefusedAsAnythingElse(String uri, String parameter) {
        refuses(uri, parameter, "yes", "true or false");
    }

    @ParameterizedTest
    @CsvSource({
        "jdbc:postgresql://db/app, bellwether.poll",
        "jdbc:postgresql://db/app, bellwether.presence",
        "zk://one:2181, tickTime",
        "etcd://host:2379/elections, presence",
        "redis://host:6379, presence",
        "consul://host:8500/elections, presence",
        "k8s:payments, presence",
        "dynamodb://eu-west-1/elections, poll"
    })
    void whatMustBeADurationIsRefusedAsAnythingElse(String uri, String parameter) {
        refuses(uri, parameter, "soon", "a duration such as 500ms or 10s");
    }

    private static void refuses(String uri, String parameter, String value, String right) {
        assertThatThrownBy(() ->
                        ConnectUri.parse(uri + '?' + parameter + '=' + value).check())
                .isInstanceOf(ElectionException.class)
                .hasMessage(parameter + " is \"" + value + "\": it must be " + right);
    }
}
