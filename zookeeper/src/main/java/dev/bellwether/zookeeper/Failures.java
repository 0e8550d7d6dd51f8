package dev.bellwether.zookeeper;

import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;

/** Says what an error means, and which of them no retry will mend. */
final class Failures {
    private Failures() {}

    /** Returns the code of an error; that of a lost connection if it has none, since then nothing is known. */
    static Code code(Throwable error) {
        var cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        if (cause instanceof KeeperException keeper) {
            return keeper.code();
        }
        return cause instanceof Requests.Refused refused ? refused.code() : Code.CONNECTIONLOSS;
    }

    /** Returns what to tell if this error is here to stay; empty if it may pass. */
    static Optional<ElectionException> fatal(Throwable error, String where) {
        var code = code(error);
        return Optional.ofNullable(
                        switch (code) {
                            case NOAUTH ->
                                "grant CREATE, DELETE, READ and WRITE on the election's node and its parent, or"
                                        + " authenticate";
                            case AUTHFAILED, SESSIONCLOSEDREQUIRESASLAUTH -> "correct the credentials";
                            case INVALIDACL ->
                                "correct the ACL; the scheme \"auth\" needs a client that has authenticated";
                            case QUOTAEXCEEDED -> "raise the quota of the parent node";
                            case UNIMPLEMENTED -> "servers must be of version 3.6 or newer";
                            case NOCHILDRENFOREPHEMERALS ->
                                "the node of the election is ephemeral; name a persistent one";
                            default -> null;
                        })
                .map(advice -> new ElectionException(
                        "refused by " + where + ": " + describe(error, code) + "; " + advice, error));
    }

    /** Returns the error as our callers know it. */
    static ElectionException translated(Throwable error, String where) {
        var cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        if (cause instanceof ElectionException ours) {
            return ours;
        }
        if (code(error) == Code.NOTREADONLY) {
            return new UnavailableException(where + " is read-only: the server has lost its ensemble", error);
        }
        return fatal(error, where)
                .orElseGet(() -> new UnavailableException(
                        "no answer from " + where + ": " + describe(error, code(error)), error));
    }

    private static String describe(Throwable error, Code code) {
        var message = error.getMessage();
        return message == null ? code.toString() : message;
    }
}
