package kotlin.coroutines;

/** What the last parameter of a suspending function is: Kotlin itself is not needed to look for that. */
public interface Continuation<T> {
    void resumeWith(T result);
}
