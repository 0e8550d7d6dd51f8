package dev.bellwether.zookeeper;

import java.util.List;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.jspecify.annotations.Nullable;

/** A transaction that was not carried out; its cause tells why, and at which node. */
final class RefusedTransaction extends Exception {
    private static final long serialVersionUID = 1;

    private final int failed;

    RefusedTransaction(Code code, int failed, @Nullable String node) {
        super(KeeperException.create(code, node));
        this.failed = failed;
    }

    static RefusedTransaction of(Code code, List<Op> operations, @Nullable List<OpResult> results) {
        for (var i = 0; results != null && i < results.size() && i < operations.size(); i++) {
            if (results.get(i) instanceof OpResult.ErrorResult error && error.getErr() == code.intValue()) {
                return new RefusedTransaction(code, i, operations.get(i).getPath());
            }
        }
        return new RefusedTransaction(code, -1, null);
    }

    /** Returns the place of the operation that failed for this reason; -1 if none is known to have. */
    int failed() {
        return failed;
    }
}
