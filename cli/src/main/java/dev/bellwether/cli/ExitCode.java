package dev.bellwether.cli;

/** What the command exits with; documented in the help and in docs/cli.md. */
final class ExitCode {
    static final int OK = 0;
    static final int FAILED = 1;
    static final int USAGE = 2;
    static final int NOBODY_LEADS = 3;
    static final int UNAVAILABLE = 4;
    static final int RELAY_ENDED = 5;
    static final int CANDIDACY_FAILED = 5;

    // run passes on what its command exits with, so its own codes lie where timeout(1) and nohup(1) have theirs
    static final int RUN_CANDIDACY_FAILED = 121;
    static final int RUN_OVER = 122;
    static final int RUN_LOST = 123;
    static final int RUN_NOT_WON = 124;
    static final int RUN_FAILED = 125;
    static final int RUN_NOT_EXECUTABLE = 126;
    static final int RUN_NOT_FOUND = 127;

    private ExitCode() {}
}
