package dev.bellwether.cli.command;

/** What the command exits with; documented in the help and in docs/cli.md. */
public final class ExitCode {
    public static final int OK = 0;
    public static final int FAILED = 1;
    public static final int USAGE = 2;
    public static final int NOBODY_LEADS = 3;
    public static final int UNAVAILABLE = 4;
    public static final int RELAY_ENDED = 5;
    public static final int CANDIDACY_FAILED = 5;

    // run passes on what its command exits with, so its own codes lie where timeout(1) and nohup(1) have theirs
    public static final int RUN_CANDIDACY_FAILED = 121;
    public static final int RUN_OVER = 122;
    public static final int RUN_LOST = 123;
    public static final int RUN_NOT_WON = 124;
    public static final int RUN_FAILED = 125;
    public static final int RUN_NOT_EXECUTABLE = 126;
    public static final int RUN_NOT_FOUND = 127;

    private ExitCode() {}
}
