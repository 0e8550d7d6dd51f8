package dev.bellwether.benchmarks;

import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A plot of distributions, one line of dots each, and a bar at the median, on one logarithmic axis, as SVG. It brings
 * its own light ground, since a picture in a page does not know whether that is light or dark.
 */
record Plot(String title, String unit) {
    private static final int WIDTH = 760;
    private static final int LEFT = 170;
    private static final int RIGHT = 30;
    private static final int TOP = 44;
    private static final int ROW = 46;
    private static final int MOST_NUMBERS = 11;
    private static final List<String> COLOURS =
            List.of("#2a78d6", "#d9682c", "#1d9a6c", "#9a5bd0", "#b3870b", "#c43d70");

    /** The values of each, in order. */
    String of(Map<String, List<Double>> byWho) {
        var range = byWho.values().stream()
                .flatMap(List::stream)
                .mapToDouble(Double::doubleValue)
                .filter(value -> value > 0)
                .summaryStatistics();
        var axis = range.getCount() == 0 ? Axis.over(1, 10) : Axis.over(range.getMin(), range.getMax());
        var bottom = TOP + ROW * byWho.size();
        var svg =
                new StringBuilder("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + WIDTH + " " + (bottom + 44)
                        + "' font-family='sans-serif' font-size='13' role='img' aria-label='" + escape(title) + "'>\n");
        svg.append("<rect width='100%' height='100%' rx='6' fill='#ffffff'/>\n");
        svg.append(
                "<text x='12' y='24' font-size='15' font-weight='bold' fill='#222222'>" + escape(title) + "</text>\n");
        for (var step = axis.first; step <= axis.last; step++) {
            var value = Axis.value(step);
            var x = axis.x(value);
            svg.append(stroke(x, TOP, bottom, "#dddddd", 1));
            if (axis.isNumbered(step)) {
                svg.append(text(x, bottom + 18, "middle", "#555555", number(value)));
            }
        }
        svg.append(text(
                WIDTH - RIGHT,
                bottom + 36,
                "end",
                "#555555",
                unit + ", logarithmic; a dot for each value, a bar at the median"));
        var row = 0;
        for (var each : byWho.entrySet()) {
            var y = TOP + ROW * row + ROW / 2;
            var colour = COLOURS.get(row++ % COLOURS.size());
            svg.append(text(LEFT - 12, y - 2, "end", "#222222", each.getKey()));
            svg.append(
                    text(LEFT - 12, y + 14, "end", "#555555", Evidence.text(Evidence.at(each.getValue(), 0.5), unit)));
            dots(svg, each.getValue(), axis, y, colour);
            svg.append(stroke(axis.x(Evidence.at(each.getValue(), 0.5)), y - 15, y + 15, colour, 3));
        }
        return svg.append("</svg>\n").toString();
    }

    private static void dots(StringBuilder svg, List<Double> values, Axis axis, int y, String colour) {
        for (var i = 0; i < values.size(); i++) {
            var apart = y - 8 + 16 * Math.floorMod(i * 7, 11) / 10; // in the same way each time
            svg.append("<circle cx='" + axis.x(values.get(i)) + "' cy='" + apart + "' r='3' fill='" + colour
                    + "' fill-opacity='0.45'/>\n");
        }
    }

    private static String stroke(double x, int from, int to, String colour, int width) {
        return "<line x1='" + x + "' y1='" + from + "' x2='" + x + "' y2='" + to + "' stroke='" + colour
                + "' stroke-width='" + width + "'/>\n";
    }

    private static String text(double x, int y, String anchor, String colour, String text) {
        return "<text x='" + x + "' y='" + y + "' text-anchor='" + anchor + "' fill='" + colour + "'>" + escape(text)
                + "</text>\n";
    }

    private static String number(double value) {
        return value < 1
                ? BigDecimal.valueOf(value).toPlainString()
                : String.format(Locale.ROOT, "%,d", Math.round(value));
    }

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;");
    }

    /**
     * Marked at 1, 2 and 5 of each decade, which are numbered throughout; numbered at all marks, or at each decade if
     * they are many.
     */
    private record Axis(int first, int last) {
        static Axis over(double least, double most) {
            var first = (int) Math.floor(3 * Math.log10(least)) - 1;
            while (value(first + 1) <= least) {
                first++;
            }
            var last = first + 1;
            while (value(last) < most) {
                last++;
            }
            return new Axis(first, last);
        }

        boolean isNumbered(int step) {
            return last - first <= MOST_NUMBERS || Math.floorMod(step, 3) == 0;
        }

        static double value(int step) {
            var mark = List.of(1, 2, 5).get(Math.floorMod(step, 3));
            var decade = Math.floorDiv(step, 3);
            return decade < 0 ? mark / Math.pow(10, -decade) : mark * Math.pow(10, decade);
        }

        /** To a tenth of a unit of the picture. What is not positive stands at the left end. */
        double x(double value) {
            var from = Math.log10(value(first));
            var share = value <= 0 ? 0 : (Math.log10(value) - from) / (Math.log10(value(last)) - from);
            return Math.round(10 * (LEFT + (WIDTH - LEFT - RIGHT) * share)) / 10.0;
        }
    }
}
