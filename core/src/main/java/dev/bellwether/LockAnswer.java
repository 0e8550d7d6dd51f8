package dev.bellwether;

import java.util.Optional;

/**
 * What became of an attempt to take a {@link RunLock}: exactly one of held, or refused.
 *
 * @param lock what is held now, to be closed; empty if the lock was refused
 * @param holder on refusal, the candidate id of who had it when we last heard; where candidates queue (ZooKeeper), that
 *     of the one right before us. Empty if the lock is held, and if its last holder has just let go of it
 */
public record LockAnswer(Optional<HeldLock> lock, Optional<String> holder) {
    /** Returns whether the lock is held. */
    public boolean isHeld() {
        return lock.isPresent();
    }
}
