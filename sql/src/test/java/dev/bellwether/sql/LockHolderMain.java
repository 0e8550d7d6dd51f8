package dev.bellwether.sql;

import dev.bellwether.fixtures.ChildProcess;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Scanner;

/** Locks a file in a process of its own, for as long as that lives. Reads the file, too, when it is told to. */
final class LockHolderMain {
    private LockHolderMain() {}

    /** Returns when it has the lock. */
    static ChildProcess lock(Path file) {
        var child = ChildProcess.start(LockHolderMain.class, file.toString());
        child.await("locked");
        return child;
    }

    public static void main(String[] args) throws IOException {
        var file = Path.of(args[0]);
        try (var channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                var lock = channel.lock();
                var commands = new Scanner(System.in, StandardCharsets.UTF_8)) {
            System.out.println("locked");
            while (commands.hasNextLine() && !commands.nextLine().isEmpty()) {
                System.out.println("read " + Files.readString(file).length() + ", valid " + lock.isValid());
            }
        }
    }
}
