package dev.bellwether.zookeeper;

import dev.bellwether.AccessRefusedException;
import dev.bellwether.ElectionException;
import dev.bellwether.UnavailableException;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;

/** Says what an error means, and which of them no retry will fix. */
final class ZooKeeperErrors {
    private ZooKeeperErrors() {}

    /** Returns the code of an error; that of a lost connection if it has none, since then nothing is known. */
    static Code code(Throwable error) {
        return cause(error) instanceof KeeperException keeper ? keeper.code() : Code.CONNECTIONLOSS;
    }

    private static Throwable cause(Throwable error) {
        var cause =
                error instanceof CompletionException || error instanceof RefusedTransaction ? error.getCause() : null;
        return cause == null ? error : cause(cause);
    }

    /** Returns whether nobody has answered, so that the same may be asked again. */
    static boolean isUnanswered(Throwable error) {
        return switch (code(error)) {
            case CONNECTIONLOSS, SESSIONEXPIRED, SESSIONMOVED, OPERATIONTIMEOUT, REQUESTTIMEOUT ->
                !(cause(error) instanceof ElectionException);
            default -> false;
        };
    }

    /**
     * Returns what to tell if the servers have refused what we asked: an {@link AccessRefusedException} if for lack of
     * rights, credentials or quota; empty if they have not answered, or may answer otherwise when asked again.
     */
    static Optional<ElectionException> refusal(Throwable error, String where) {
        if (cause(error) instanceof ElectionException ours) {
            return Optional.of(ours);
        }
        var code = code(error);
        return switch (code) {
            case NOAUTH ->
                access(
                        error,
                        where,
                        "grant CREATE, DELETE, READ and WRITE on the election's node and its parent, and READ on the"
                                + " candidates' nodes, or authenticate");
            case AUTHFAILED, SESSIONCLOSEDREQUIRESASLAUTH -> access(error, where, "correct the credentials");
            case INVALIDACL ->
                access(error, where, "correct the ACL; the scheme \"auth\" needs a client that has authenticated");
            case QUOTAEXCEEDED -> // after an outage the nodes of former sessions are counted as well, until they go
                access(error, where, "raise the quota of the parent node");
            case UNIMPLEMENTED -> fatal(error, where, "servers must be of version 3.6 or newer");
            case NOCHILDRENFOREPHEMERALS ->
                fatal(error, where, "the node of the election is ephemeral; name a persistent one");
            default -> Optional.empty();
        };
    }

    /** Returns what to tell when a server takes our credentials no more, and the client has given up. */
    static ElectionException authenticationFailed(String where) {
        return new AccessRefusedException("refused by " + where + ": authentication failed; correct the credentials");
    }

    private static Optional<ElectionException> access(Throwable error, String where, String advice) {
        return Optional.of(new AccessRefusedException(says(error, where, advice), error));
    }

    private static Optional<ElectionException> fatal(Throwable error, String where, String advice) {
        return Optional.of(new ElectionException(says(error, where, advice), error));
    }

    private static String says(Throwable error, String where, String advice) {
        return "refused by " + where + ": " + describe(error) + "; " + advice;
    }

    /** Returns the error as our callers know it. */
    static ElectionException translated(Throwable error, String where) {
        if (cause(error) instanceof ElectionException ours) {
            return ours;
        }
        if (code(error) == Code.NOTREADONLY) {
            return new UnavailableException(where + " is read-only: the server has lost its ensemble", error);
        }
        return refusal(error, where)
                .orElseGet(() -> new UnavailableException("no answer from " + where + ": " + describe(error), error));
    }

    /** Returns it in the servers' words, with the node that it is about. */
    private static String describe(Throwable error) {
        return String.valueOf(cause(error).getMessage());
    }
}
