package dev.bellwether.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.ElectionException;
import dev.bellwether.Elections;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** What a URI means, what is wrong with it, and that it never shows a secret. */
class ConnectUriTest {

    @Test
    void aUriHasParts() {
        var uri = ConnectUri.parse("Kafka://us%40er:pw@a:1,b:2/chroot/x?topic=my%20topic&acks=all");
        assertThat(uri.scheme()).isEqualTo("kafka");
        assertThat(uri.authority()).isEqualTo("a:1,b:2");
        assertThat(uri.path()).isEqualTo("/chroot/x");
        assertThat(uri.userInfo()).contains("us@er:pw");
        assertThat(uri.parameter("topic")).contains("my topic");
        assertThat(uri.parameters()).containsEntry("acks", "all");
    }

    @Test
    void anUnknownSchemeIsRefusedWithTheKnownOnes() {
        assertThatThrownBy(() -> Elections.connect("carrier-pigeon://roof"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("\"carrier-pigeon:\"")
                .hasMessageContaining("memory:");
    }

    @Test
    void aUriWithoutASchemeIsRefused() {
        for (var text : List.of("", "localhost", "//host", "::", ":x")) {
            assertThatThrownBy(() -> ConnectUri.parse(text))
                    .isInstanceOf(ElectionException.class)
                    .hasMessageContaining("scheme");
        }
    }

    @Test
    void whatOthersCallItIsToldWithWhatToWriteInstead() {
        var uri = ConnectUri.parse("postgres://ops:geheim@db:5432/app?ssl=true");
        assertThatThrownBy(uri::check)
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("write jdbc:postgresql://db:5432/app?ssl=true")
                .hasMessageNotContaining("geheim");
    }

    @Test
    void theServersOfAUriAreKnownUnlessItIsUnclearWhatTheyAre() {
        assertThat(Endpoint.of(ConnectUri.parse("jdbc:postgresql://a,b:1/app?user=x")))
                .containsExactly(new Endpoint("a", 5432), new Endpoint("b", 1));
        assertThat(Endpoint.of(ConnectUri.parse("jdbc:mariadb:sequential://a:1/app")))
                .containsExactly(new Endpoint("a", 1));
        assertThat(Endpoint.of(ConnectUri.parse("nats://me:secret@[::1]:4223,b?bucket=x")))
                .containsExactly(new Endpoint("::1", 4223), new Endpoint("b", 4222));
        assertThat(Endpoint.of(ConnectUri.parse("dynamodb://eu-west-1/table?endpoint=http://[::1]:8000")))
                .containsExactly(new Endpoint("::1", 8000));
        assertThat(Endpoint.of(ConnectUri.parse("dynamodb://eu-west-1/table?endpoint=https://a/")))
                .containsExactly(new Endpoint("a", 443));
        for (var unclear : List.of(
                "jdbc:sqlite:/a/b.db",
                "dynamodb://eu-west-1/table",
                "memory:x",
                "jdbc:postgresql://me:s@a/x",
                "nats://me:se@cr/et@a",
                "jdbc:mysql://[a:1,(host=b,password=x:y)]/app",
                "kafka://x@y@z")) {
            assertThat(Endpoint.of(ConnectUri.parse(unclear))).as(unclear).isEmpty();
        }
    }

    @Test
    void aPortThatIsNoneIsRefusedWithoutNamingAPassword() {
        for (var port : List.of("0", "70000", "x", "-1")) {
            assertThatThrownBy(() -> Endpoint.of(ConnectUri.parse("zk://host:" + port)))
                    .hasMessageContaining('"' + port + '"');
        }
        assertThatThrownBy(() -> Endpoint.of(ConnectUri.parse("nats://me:secret@host:x")))
                .hasMessageContaining("port")
                .hasMessageNotContaining("secret");
    }

    @Test
    void anUnknownParameterIsRefusedByName() {
        assertThatThrownBy(() -> Elections.connect("memory:x?colour=blue"))
                .isInstanceOf(ElectionException.class)
                .hasMessageContaining("\"colour\"");
        assertThatThrownBy(() -> ConnectUri.parse("nats://h?a=1&b=2").requireKnown(List.of("a", "bucket")))
                .hasMessageContaining("\"b\"")
                .hasMessageContaining("a, bucket");
    }

    @Test
    void malformedParametersAreRefused() {
        assertThatThrownBy(() -> ConnectUri.parse("nats://h?bucket")).hasMessageContaining("name=value");
        assertThatThrownBy(() -> ConnectUri.parse("nats://h?a=1&a=2")).hasMessageContaining("\"a\" occurs twice");
        assertThatThrownBy(() -> ConnectUri.parse("nats://h?a=%zz")).hasMessageContaining("%25");
    }

    @Test
    void aParameterIsReadAsAFlagANumberOrADurationAndMayBeMissing() {
        var uri = ConnectUri.parse("nats://h?create=false&choria=true&replicas=3&ttl=1m30s&backoff=250%20ms");
        assertThat(uri.flag("create")).contains(false);
        assertThat(uri.flag("choria")).contains(true);
        assertThat(uri.number("replicas", 1, 3)).contains(3);
        assertThat(uri.duration("ttl")).contains(Duration.ofSeconds(90));
        assertThat(uri.duration("backoff")).contains(Duration.ofMillis(250));
        assertThat(uri.flag("other")).isEmpty();
        assertThat(uri.number("other", 1, 5)).isEmpty();
        assertThat(uri.duration("other")).isEmpty();
    }

    @Test
    void aParameterThatIsNotWhatItMustBeIsNamedWithItsValueAndWhatWouldBeRight() {
        var uri = ConnectUri.parse("nats://h?create=yes&replicas=6&few=0&many=9999999999&none=&ttl=soon");
        refuses(() -> uri.flag("create"), "create is \"yes\": it must be true or false");
        refuses(() -> uri.number("replicas", 1, 5), "replicas is \"6\": it must be a whole number from 1 to 5");
        refuses(() -> uri.number("few", 1, 5), "few is \"0\": it must be a whole number from 1 to 5");
        refuses(() -> uri.number("many", 1, 5), "many is \"9999999999\": it must be a whole number from 1 to 5");
        refuses(() -> uri.number("none", 1, 5), "none is \"\": it must be a whole number from 1 to 5");
        refuses(() -> uri.duration("ttl"), "ttl is \"soon\": it must be a duration such as 500ms or 10s");
    }

    @Test
    void aSecretInTheWrongPlaceIsNotShownByTheRefusal(@TempDir Path folder) throws Exception {
        var file = Files.writeString(folder.resolve("pw"), "s3cr3t");
        var uri = ConnectUri.parse(
                "nats://h?create=${file:" + file + "}&replicas=${file:" + file + "}&ttl=${file:" + file + "}");
        refuses(() -> uri.flag("create"), "create is \"***\": it must be true or false");
        refuses(() -> uri.number("replicas", 1, 5), "replicas is \"***\": it must be a whole number from 1 to 5");
        refuses(() -> uri.duration("ttl"), "ttl is \"***\": it must be a duration such as 500ms or 10s");
    }

    private static void refuses(ThrowingCallable read, String message) {
        assertThatThrownBy(read).isInstanceOf(ElectionException.class).hasMessage(message);
    }

    @Test
    void secretsAreFilledInFromAFileAndNotShown(@TempDir Path folder) throws Exception {
        var file = Files.writeString(folder.resolve("pw"), "s3cr3t&?\n");
        var uri = ConnectUri.parse("jdbc:postgresql://db/app?user=x&password=${file:" + file + "}");
        assertThat(uri.expanded()).endsWith("password=s3cr3t&?");
        assertThat(uri.parameter("password")).contains("s3cr3t&?");
        assertThat(uri.toString()).doesNotContain("s3cr3t").contains("${file:");
        assertThat(uri.redact("login with s3cr3t&? failed")).isEqualTo("login with *** failed");
    }

    /** Such as a pipe, which has nothing more the second time; or one that is just being replaced. */
    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aFileIsReadOnce(@TempDir Path folder) throws Exception {
        var pipe = folder.resolve("pw");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        var writer = new Thread(() -> {
            try {
                Files.writeString(pipe, "s3cr3t", StandardOpenOption.WRITE);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        writer.setDaemon(true);
        writer.start();
        var uri = ConnectUri.parse("nats://app:${file:" + pipe + "}@host:4222/x?token=${file:" + pipe + "}");
        assertThat(uri.userInfo()).contains("app:s3cr3t");
        assertThat(uri.parameter("token")).contains("s3cr3t");
        assertThat(uri.expanded()).contains("app:s3cr3t@");
    }

    /** A driver would cut it at an ampersand, and decode it. */
    @Test
    void aDriverIsHandedWhatWasFilledInBesideItsUrl(@TempDir Path folder) throws Exception {
        var file = Files.writeString(folder.resolve("pw"), "a%zz+b&c=\n");
        var uri = ConnectUri.parse("jdbc:postgresql://db/app?user=x&password=${file:" + file + "}&ssl=true");
        assertThat(uri.forDriver()).isEqualTo("jdbc:postgresql://db/app?user=x&ssl=true");
        assertThat(uri.filled()).containsExactly(Map.entry("password", "a%zz+b&c="));
        assertThat(ConnectUri.parse("jdbc:h2:mem:x?a=%20").forDriver()).isEqualTo("jdbc:h2:mem:x?a=%20");
    }

    @Test
    void aSecretFromAFileMayHoldAnyCharacterAndThePartsAreStillFound(@TempDir Path folder) throws Exception {
        var file = Files.writeString(folder.resolve("pw"), "a/b@c:d?e%zz+f\n");
        var uri = ConnectUri.parse("nats://app:${file:" + file + "}@one:4222,two:4222/x?bucket=b");
        assertThat(uri.userInfo()).contains("app:a/b@c:d?e%zz+f");
        assertThat(uri.authority()).isEqualTo("one:4222,two:4222");
        assertThat(uri.path()).isEqualTo("/x");
        assertThat(Endpoint.of(uri)).containsExactly(new Endpoint("one", 4222), new Endpoint("two", 4222));
        assertThat(uri.toString()).doesNotContain("a/b").contains("${file:");
        var hosts = Files.writeString(folder.resolve("hosts"), "app:s3cr3t@one:4222\n");
        assertThat(Endpoint.of(ConnectUri.parse("nats://${file:" + hosts + "}")))
                .isEmpty();
    }

    @Test
    void aUserWithoutAPasswordMayBeATokenAndIsNotShown() {
        var uri = ConnectUri.parse("nats://s3cr3tt0ken@host:4222");
        assertThat(uri.toString()).isEqualTo("nats://***@host:4222");
        assertThat(uri.redact("user s3cr3tt0ken refused")).isEqualTo("user *** refused");
        assertThat(uri.userInfo()).contains("s3cr3tt0ken");
        assertThat(ConnectUri.parse("nats://host:4222/x").toString()).isEqualTo("nats://host:4222/x");
        assertThat(ConnectUri.parse("nats://ann@b:s3cr3t@host").toString()).doesNotContain("s3cr3t");
    }

    /** It has no user: a home may be that of somebody somewhere. */
    @Test
    void theAtSignInThePathOfADatabaseFileEndsNoPassword() {
        for (var file : List.of(
                "jdbc:sqlite:/home/ann@corp/app.db",
                "jdbc:sqlite:file:/home/ann@corp/app.db?mode=ro",
                "JDBC:H2:/home/ann@corp/app",
                "jdbc:h2:file:~/ann@corp/app;WRITE_DELAY=0")) {
            var uri = ConnectUri.parse(file);
            assertThat(uri).hasToString(file);
            assertThat(uri.redact("cannot open /home/ann@corp/app.db")).isEqualTo("cannot open /home/ann@corp/app.db");
        }
        assertThat(ConnectUri.parse("jdbc:h2:/home/ann@corp/app;PASSWORD=s3cr3t"))
                .hasToString("jdbc:h2:/home/ann@corp/app;PASSWORD=***");
        for (var host : List.of("jdbc:h2:tcp://sa:s3cr3t@host/app", "jdbc:sqlite://sa:s3cr3t@host/app")) {
            assertThat(ConnectUri.parse(host).toString()).doesNotContain("s3cr3t");
        }
    }

    @Test
    void aPasswordInParenthesesIsNotShown() {
        var uri = ConnectUri.parse("jdbc:mysql://address=(host=h)(user=u)(password=s3cr3t)(port=1)/db");
        assertThat(uri.toString()).doesNotContain("s3cr3t").contains("(host=h)(user=u)");
        assertThat(uri.redact("denied: s3cr3t")).isEqualTo("denied: ***");
        assertThat(ConnectUri.parse("jdbc:oracle:thin:scott/t1ger@//h:1521/svc").toString())
                .doesNotContain("t1ger");
    }

    @Test
    void aPasswordAmongOthersInParenthesesIsNotShown() {
        for (var hosts : List.of(
                "(host=h,port=3306,user=u,password=s3cr3t)",
                "( host = h , password = s3cr3t , port=3306)",
                "[a:1,(host=b,password=s3cr3t)]",
                "[a:1,(host=b,password=at@s3cr3t,port=1)]",
                "[(host=a,password=s3cr3t),address=(host=b)(password=s3cr3t)(port=1)]",
                "address=(host=a)(password=bra)s3cr3t)(port=1)",
                "(security=(wallet_password=s3cr3t))",
                "(host=a,password=s3cr3t",
                "(host=a,password=com,s3cr3t,port=1)")) {
            var uri = ConnectUri.parse("jdbc:mysql://" + hosts + "/db");
            assertThat(uri.toString()).doesNotContain("s3cr3t").startsWith("jdbc:mysql://" + hosts.charAt(0));
            assertThat(uri.redact("denied: s3cr3t")).as(hosts).isEqualTo("denied: ***");
        }
        assertThat(ConnectUri.parse("jdbc:mysql://(host=h,port=3306,user=u,password=s3cr3t)/db"))
                .hasToString("jdbc:mysql://(host=h,port=3306,user=u,password=***)/db");
        assertThat(ConnectUri.parse("jdbc:mysql://(host=h,password=${env:PATH})/db"))
                .hasToString("jdbc:mysql://(host=h,password=${env:PATH})/db");
    }

    @Test
    void whatADriverTakesForAHostOrAPortOfAPasswordIsNotShown() {
        for (var odd : List.of("/", "#", ":", "@", ";", ",", "(")) {
            var uri = ConnectUri.parse("jdbc:mysql://app:pa55" + odd + "w0rd@db/app");
            assertThat(uri.redact("Failed to parse the host:port pair 'app:pa55', and of 'w0rd@db'"))
                    .as(odd)
                    .isEqualTo("Failed to parse the host:port pair 'app:***', and of '***@db'");
        }
        var filledIn = ConnectUri.parse("jdbc:mysql://app:${env:PATH}@db/app");
        assertThat(filledIn.redact("env is a word")).isEqualTo("env is a word");
    }

    @Test
    void aSecretThatBeginsLikeAnotherIsHiddenWhole() {
        var uri = ConnectUri.parse("nats://app:s3cr@h?token=s3cr3t");
        assertThat(uri.redact("s3cr3t and s3cr")).isEqualTo("*** and ***");
    }

    @Test
    void whiteSpaceAroundASecretMayBeGoneFromAMessage() {
        assertThat(ConnectUri.parse("consul://h?token=s3cr3t%0A").redact("no s3cr3t, please"))
                .isEqualTo("no ***, please");
    }

    @Test
    void theTokensOfSeveralHostsAreNotShown() {
        for (var hosts : List.of(
                "s3cr3t@h1,s3cr3t@h2", "s3cr3t@h1:1,s3cr3t@h2:2", "h1,s3cr3t@h2", "@h1,s3cr3t@h2", "@s3cr3t@h2")) {
            var uri = ConnectUri.parse("nats://" + hosts + "/x");
            assertThat(uri.toString()).as(hosts).doesNotContain("s3cr3t");
            assertThat(uri.redact("no s3cr3t, please")).as(hosts).isEqualTo("no ***, please");
        }
    }

    @Test
    void hostsAndUsersBetweenPasswordsAreNoSecrets() {
        var uri = ConnectUri.parse("jdbc:mysql://app:s3cr3t@db1.example.com:3306,app:s3cr3t@db2:3306/application");
        assertThat(uri.toString()).doesNotContain("s3cr3t");
        assertThat(uri.redact("db1.example.com:3306 refused app in application, by s3cr3t"))
                .isEqualTo("db1.example.com:3306 refused app in application, by ***");
    }

    @Test
    void whatStandsBeforeTheQuestionMarkOfJointElectionsIsNotShown() {
        for (var text : List.of(
                "joint:nats://app:s3cr3t@one,next=nats://two",
                "joint:nats://app:s3cr3t@one?next=nats://two",
                "joint:old=nats://s3cr3t@one&next=nats://two",
                "joint:jdbc:mysql://(host=h,password=s3cr3t)/x?next=nats://two")) {
            var uri = ConnectUri.parse(text);
            assertThat(uri.toString()).startsWith("joint:***").doesNotContain("s3cr3t");
            assertThatThrownBy(uri::check)
                    .as(text)
                    .hasMessageContaining("joint:?old=URI&next=URI")
                    .hasMessageNotContaining("s3cr3t");
        }
        assertThat(ConnectUri.parse("joint:?old=memory:a&next=memory:b"))
                .hasToString("joint:?old=memory:a&next=memory:b");
    }

    /** Whether it may be shown as the cause is asked of whatever a driver throws. */
    @Test
    @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void causesThatFormACircleHoldASecretOrNone() {
        var uri = ConnectUri.parse("nats://app:s3cr3t@one");
        assertThat(uri.holdsSecret(circle("wrong password"))).isFalse();
        assertThat(uri.holdsSecret(circle("s3cr3t is no password"))).isTrue();
    }

    private static Throwable circle(String says) {
        var first = new IllegalStateException("no connection");
        first.initCause(new IllegalStateException(says, first));
        return first;
    }

    @Test
    void aMissingSourceOfASecretIsNamed() {
        assertThatThrownBy(() -> ConnectUri.parse("nats://${env:BELLWETHER_NO_SUCH}@h"))
                .hasMessageContaining("BELLWETHER_NO_SUCH")
                .hasMessageContaining("not set");
        assertThatThrownBy(() -> ConnectUri.parse("nats://${file:/no/such}@h")).hasMessageContaining("/no/such");
    }

    /** Whatever is thrown at it, a URI parses or is refused by an {@link ElectionException}, and shows no secret. */
    @Test
    void noUriBreaksTheParserOrShowsASecret() {
        var seed = Long.getLong("bellwether.seed", 20_260_101);
        var random = new Random(seed);
        var pieces = List.of(
                "kafka",
                "jdbc:h2",
                ":",
                "//",
                "/",
                "?",
                "&",
                "=",
                ";",
                "@",
                "%",
                "%41",
                "${env:PATH}",
                "${",
                "}",
                "host",
                "host:1",
                ",",
                "user",
                "topic",
                " ",
                "é",
                "\0",
                "#",
                "[::1]");
        var secretNames =
                List.of("password", "sasl.jaas.config", "ssl.key.password", "token", "Passwd", "trustStorePassword");
        for (var i = 0; i < 20_000; i++) {
            var secret = "hunter" + random.nextInt(1_000_000);
            var text = new StringBuilder(random.nextBoolean() ? "kafka:" : "");
            for (var n = random.nextInt(8); n > 0; n--) {
                text.append(pieces.get(random.nextInt(pieces.size())));
            }
            switch (random.nextInt(5)) {
                case 0 -> text.append("//user:").append(secret).append("@host/x");
                case 1 ->
                    text.append("?a=b&")
                            .append(secretNames.get(random.nextInt(secretNames.size())))
                            .append('=')
                            .append(secret);
                case 2 ->
                    text.append("//(host=a,")
                            .append(secretNames.get(random.nextInt(secretNames.size())))
                            .append('=')
                            .append(secret)
                            .append(")/x");
                case 3 ->
                    text.append("//[a:1,(host=b)(")
                            .append(secretNames.get(random.nextInt(secretNames.size())))
                            .append('=')
                            .append(secret)
                            .append(",user=c)]");
                default ->
                    text.append(";")
                            .append(secretNames.get(random.nextInt(secretNames.size())))
                            .append('=')
                            .append(secret);
            }
            for (var n = random.nextInt(4); n > 0; n--) {
                text.append(random.nextBoolean() ? "&" : "?").append(pieces.get(random.nextInt(pieces.size())));
            }
            try {
                var uri = ConnectUri.parse(text.toString());
                assertThat(uri.toString())
                        .as("seed %d, case %d: %s", seed, i, text)
                        .doesNotContain(secret);
                assertThat(uri.redact("failed: " + uri.expanded())).doesNotContain(secret);
                uri.authority();
                uri.path();
                uri.userInfo();
                uri.requireKnown(List.of("a"));
                uri.connect();
            } catch (ElectionException e) {
                assertThat(e.getMessage())
                        .as("seed %d, case %d: %s", seed, i, text)
                        .doesNotContain(secret);
            }
        }
    }

    @Test
    void whatAnAmpersandCutsOffASecretIsHiddenAlsoIfItEndsAsBase64Does() {
        for (var password : List.of("&s3cr3t=", "s3&s3cr3t==")) {
            var uri = ConnectUri.parse("jdbc:postgresql://db/app?user=me&password=" + password + "&ssl=true");
            assertThat(uri.toString()).doesNotContain("s3cr3t").contains("user=me&password=***&", "&ssl=true");
            assertThat(uri.redact("unknown parameter s3cr3t")).isEqualTo("unknown parameter ***");
        }
    }

    @Test
    void anAddressIsNotTakenForANameOfWhichNobodyKnowsHoweverLateWeLook() {
        var endpoint = new Endpoint("127.0.0.1", 1);
        assertThat(Endpoint.complaints(List.of(endpoint), Duration.ofMillis(1)))
                .as("not that the network does not answer")
                .contains("127.0.0.1:1");
    }
}
