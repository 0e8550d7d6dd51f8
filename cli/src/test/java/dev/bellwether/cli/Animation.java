package dev.bellwether.cli;

import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;

/**
 * A moving picture, as an animated PNG of 256 colours that runs again and again. Of each frame only what differs from
 * the one before is written. Confined to one thread.
 */
public final class Animation {
    private static final int COLOURS = 256;
    private static final long LAST_FRAME_NANOS = 1_500_000_000;

    private final List<Frame> frames = new ArrayList<>();

    private record Frame(BufferedImage image, long atNanos) {}

    private record Box(int x, int y, int width, int height) {}

    /** Adds a frame that was taken at this time. */
    public void add(BufferedImage image, long atNanos) {
        frames.add(new Frame(image, atNanos));
    }

    public void write(Path file) throws IOException {
        var palette = palette();
        var indexes = new HashMap<Integer, Integer>();
        for (var i = 0; i < palette.length; i++) {
            indexes.put(palette[i], i);
        }
        var width = frames.get(0).image.getWidth();
        var height = frames.get(0).image.getHeight();
        var bytes = new ByteArrayOutputStream();
        var out = new DataOutputStream(bytes);
        out.write(new byte[] {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});
        chunk(out, "IHDR", data -> {
            data.writeInt(width);
            data.writeInt(height);
            data.write(new byte[] {8, 3, 0, 0, 0});
        });
        chunk(out, "PLTE", data -> {
            for (var colour : palette) {
                data.write(colour >> 16);
                data.write(colour >> 8);
                data.write(colour);
            }
        });
        chunk(out, "acTL", data -> {
            data.writeInt(frames.size());
            data.writeInt(0);
        });
        var before = new byte[0];
        var serial = 0;
        for (var i = 0; i < frames.size(); i++) {
            var pixels = pixels(frames.get(i).image, palette, indexes);
            var box = i == 0 ? new Box(0, 0, width, height) : changed(before, pixels, width, height);
            var delay = (i + 1 < frames.size() ? frames.get(i + 1).atNanos - frames.get(i).atNanos : LAST_FRAME_NANOS)
                    / 1_000_000;
            var number = serial++;
            chunk(out, "fcTL", data -> {
                data.writeInt(number);
                data.writeInt(box.width);
                data.writeInt(box.height);
                data.writeInt(box.x);
                data.writeInt(box.y);
                data.writeShort((int) delay);
                data.writeShort(1000);
                data.write(new byte[] {0, 0});
            });
            var packed = pack(pixels, width, box);
            if (i == 0) {
                chunk(out, "IDAT", data -> data.write(packed));
            } else {
                var next = serial++;
                chunk(out, "fdAT", data -> {
                    data.writeInt(next);
                    data.write(packed);
                });
            }
            before = pixels;
        }
        chunk(out, "IEND", data -> {});
        Files.createDirectories(file.getParent());
        Files.write(file, bytes.toByteArray());
    }

    /** The most frequent colours of all frames. */
    private int[] palette() {
        var counts = new HashMap<Integer, Integer>();
        for (var frame : frames) {
            for (var colour : colours(frame.image)) {
                counts.merge(colour, 1, Integer::sum);
            }
        }
        return counts.entrySet().stream()
                .sorted(Map.Entry.<Integer, Integer>comparingByValue()
                        .reversed()
                        .thenComparing(Map.Entry.comparingByKey()))
                .limit(COLOURS)
                .mapToInt(Map.Entry::getKey)
                .toArray();
    }

    private static int[] colours(BufferedImage image) {
        var colours = image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth());
        for (var i = 0; i < colours.length; i++) {
            colours[i] &= 0xffffff;
        }
        return colours;
    }

    private static byte[] pixels(BufferedImage image, int[] palette, Map<Integer, Integer> indexes) {
        var colours = colours(image);
        var pixels = new byte[colours.length];
        for (var i = 0; i < colours.length; i++) {
            pixels[i] = indexes.computeIfAbsent(colours[i], colour -> nearest(colour, palette))
                    .byteValue();
        }
        return pixels;
    }

    private static int nearest(int colour, int[] palette) {
        var best = 0;
        var least = Integer.MAX_VALUE;
        for (var i = 0; i < palette.length; i++) {
            var red = (colour >> 16) - (palette[i] >> 16);
            var green = (colour >> 8 & 0xff) - (palette[i] >> 8 & 0xff);
            var blue = (colour & 0xff) - (palette[i] & 0xff);
            var distance = red * red + green * green + blue * blue;
            if (distance < least) {
                least = distance;
                best = i;
            }
        }
        return best;
    }

    /** Returns the smallest box that holds all that differs, one pixel if nothing does. */
    private static Box changed(byte[] before, byte[] now, int width, int height) {
        var left = width;
        var right = -1;
        var top = height;
        var bottom = -1;
        for (var y = 0; y < height; y++) {
            for (var x = 0; x < width; x++) {
                if (before[y * width + x] != now[y * width + x]) {
                    left = Math.min(left, x);
                    right = Math.max(right, x);
                    top = Math.min(top, y);
                    bottom = y;
                }
            }
        }
        return right < 0 ? new Box(0, 0, 1, 1) : new Box(left, top, right - left + 1, bottom - top + 1);
    }

    private static byte[] pack(byte[] pixels, int width, Box box) throws IOException {
        var bytes = new ByteArrayOutputStream();
        var deflater = new Deflater(Deflater.BEST_COMPRESSION);
        try (var out = new DeflaterOutputStream(bytes, deflater)) {
            for (var y = box.y; y < box.y + box.height; y++) {
                out.write(0); // no filter
                out.write(pixels, y * width + box.x, box.width);
            }
        } finally {
            deflater.end();
        }
        return bytes.toByteArray();
    }

    private interface Content {
        void writeTo(DataOutputStream data) throws IOException;
    }

    private static void chunk(DataOutputStream out, String type, Content content) throws IOException {
        var bytes = new ByteArrayOutputStream();
        bytes.write(type.getBytes(StandardCharsets.US_ASCII));
        content.writeTo(new DataOutputStream(bytes));
        var check = new CRC32();
        check.update(bytes.toByteArray());
        out.writeInt(bytes.size() - 4);
        out.write(bytes.toByteArray());
        out.writeInt((int) check.getValue());
    }
}
