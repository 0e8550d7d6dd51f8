package dev.bellwether.nats;

import io.nats.client.NKey;
import io.nats.client.support.JwtUtils;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Instant;

/**
 * One who runs NATS with accounts and JSON web tokens: an account with JetStream, one for the system, and a user of the
 * first.
 */
final class Operator {
    private static final String ACCOUNT = """
            {"type": "account", "version": 2, "limits": {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1,
             "wildcards": true, "conn": -1, "leaf": -1, "mem_storage": %1$d, "disk_storage": %1$d, "streams": %1$d,
             "consumer": %1$d}}""";

    private final NKey operator;
    private final NKey account;
    private final NKey system;

    Operator() throws GeneralSecurityException, IOException {
        var random = new SecureRandom();
        operator = NKey.createOperator(random);
        account = NKey.createAccount(random);
        system = NKey.createAccount(random);
    }

    /** Returns what a server has to be told. */
    String configuration() throws GeneralSecurityException, IOException {
        return """
                operator: "%s"
                system_account: "%s"
                resolver: MEMORY
                resolver_preload { %s: "%s", %s: "%s" }
                """.formatted(
                        signed(operator, "{\"type\": \"operator\", \"version\": 2}"),
                        name(system),
                        name(account),
                        signed(account, ACCOUNT.formatted(-1)),
                        name(system),
                        signed(system, ACCOUNT.formatted(0)));
    }

    /** Returns the credentials of a user, as they stand in a file. */
    String credentials() throws GeneralSecurityException, IOException {
        var user = NKey.createUser(new SecureRandom());
        return String.format(
                JwtUtils.NATS_USER_JWT_FORMAT,
                JwtUtils.issueUserJWT(account, name(account), name(user)),
                new String(user.getSeed()));
    }

    private String signed(NKey key, String claims) throws GeneralSecurityException, IOException {
        return JwtUtils.issueJWT(
                operator, name(key), name(key), null, Instant.now().getEpochSecond(), name(operator), () -> claims);
    }

    private static String name(NKey key) throws GeneralSecurityException, IOException {
        return new String(key.getPublicKey());
    }
}
