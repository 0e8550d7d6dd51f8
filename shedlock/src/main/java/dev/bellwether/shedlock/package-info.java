/**
 * ShedLock on Bellwether. {@link dev.bellwether.shedlock.BellwetherLockProvider} takes the place of any other lock
 * provider: {@code @SchedulerLock} and whatever else is built on ShedLock stay as they are, and their tasks get
 * tokens.
 */
package dev.bellwether.shedlock;
