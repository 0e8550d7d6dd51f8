package dev.bellwether.benchmarks;

import dev.bellwether.benchmarks.Samples.Series;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * All vacancies in one picture, as small multiples: a row for each library on its server, a panel for each way in which
 * the leader went, and a last one for the time during which two led. All panels have one logarithmic axis. As SVG, for
 * a light page or a dark one. Immutable.
 */
record SmallMultiples(Map<Series, List<Double>> samples, boolean dark) {
    private static final Pattern VACANT = Pattern.compile("vacant after (\\w+) \\(lease (\\d+) ms\\)");
    private static final Pattern TWO_LED = Pattern.compile("two led at once \\((\\d+) rounds; lease (\\d+) ms\\)");
    private static final String TWO = "two";
    private static final Map<String, String> COLUMNS = columns();
    private static final String OURS = "Bellwether";
    private static final int USUAL_LEASE_MS = 2_000;
    private static final int WIDTH = 1_000;
    private static final int LEFT = 330;
    private static final int GAP = 14;
    private static final int TOP = 66;
    private static final int ROW = 24;
    private static final int APART = 10;
    private static final int LEAST_DECADE = -1;
    private static final int MOST_DECADE = 5;
    private static final int FEW = 5;

    private record Row(String where, String who, int leaseMs) {}

    private static Map<String, String> columns() {
        var columns = new LinkedHashMap<String, String>();
        columns.put("leave", "it leaves in order");
        columns.put("kill", "it is killed");
        columns.put("freeze", "it is frozen");
        columns.put("cut", "it is cut off");
        columns.put(TWO, "two led at once");
        return columns;
    }

    String draw() {
        var rows = rows();
        var drawn = new ArrayList<String>();
        var bottom = drawRows(rows, drawn);
        var svg = new ArrayList<String>();
        axes(bottom, svg);
        svg.addAll(drawn);
        return head(bottom + 30) + String.join("\n", svg) + "\n</svg>\n";
    }

    /** Draws the rows, and returns where they end. */
    private int drawRows(Map<Row, Map<String, List<Double>>> rows, List<String> svg) {
        var y = TOP;
        var before = "";
        for (var row : rows.entrySet()) {
            var where = row.getKey().where;
            if (!where.equals(before)) {
                y += before.isEmpty() ? 0 : APART;
                svg.add(line(8, y - ROW / 2.0, WIDTH - 8, y - ROW / 2.0, grid()));
                svg.add(text(12, y + 5, "start", ink(), where, true));
                before = where;
            }
            var name = row.getKey().who + (row.getKey().leaseMs == USUAL_LEASE_MS ? "" : lease(row.getKey()));
            svg.add(text(LEFT - 16, y + 5, "end", row.getKey().who.equals(OURS) ? ink() : faint(), name, false));
            panels(row.getKey(), row.getValue(), y, svg);
            y += ROW;
        }
        return y - ROW / 2;
    }

    private void axes(int bottom, List<String> svg) {
        var column = 0;
        for (var title : COLUMNS.values()) {
            svg.add(text(left(column), 46, "start", ink(), title, true));
            for (var decade = LEAST_DECADE; decade <= MOST_DECADE; decade++) {
                svg.add(line(x(column, decade), TOP - ROW / 2.0, x(column, decade), bottom, grid()));
            }
            svg.add(text(x(column, 0), bottom + 18, "middle", faint(), "1 ms", false));
            svg.add(text(x(column, 3), bottom + 18, "middle", faint(), "1 s", false));
            column++;
        }
    }

    /** The rows of one server one after the other, ours first, and the values of each panel. */
    private Map<Row, Map<String, List<Double>>> rows() {
        var byWhere = new LinkedHashMap<String, Map<Row, Map<String, List<Double>>>>();
        samples.forEach((series, values) -> {
            var vacant = VACANT.matcher(series.what());
            var two = TWO_LED.matcher(series.what());
            if (vacant.matches() || two.matches()) {
                var lease = Integer.parseInt(vacant.matches() ? vacant.group(2) : two.group(2));
                byWhere.computeIfAbsent(series.where(), where -> new LinkedHashMap<>())
                        .computeIfAbsent(new Row(series.where(), series.who(), lease), row -> new LinkedHashMap<>())
                        .put(vacant.matches() ? vacant.group(1) : TWO, values);
            }
        });
        var rows = new LinkedHashMap<Row, Map<String, List<Double>>>();
        byWhere.values().forEach(ofOne -> {
            ofOne.forEach((row, panels) -> {
                if (row.who.equals(OURS)) {
                    rows.put(row, panels);
                }
            });
            ofOne.forEach(rows::putIfAbsent);
        });
        return rows;
    }

    private void panels(Row row, Map<String, List<Double>> values, int y, List<String> svg) {
        var column = 0;
        for (var name : COLUMNS.keySet()) {
            var ofOne = values.getOrDefault(name, List.of());
            if (name.equals(TWO)) {
                two(row, ofOne, column, y, svg);
            } else if (ofOne.isEmpty()) {
                svg.add(text(left(column), y + 4, "start", faint(), "never", false));
            } else {
                dots(row, ofOne, column, y, svg);
            }
            column++;
        }
    }

    private void dots(Row row, List<Double> values, int column, int y, List<String> svg) {
        for (var i = 0; i < values.size(); i++) {
            var apart = y - 6 + 12 * Math.floorMod(i * 7, 11) / 10; // in the same way each time
            svg.add("<circle cx='" + x(column, Math.log10(values.get(i))) + "' cy='" + apart + "' r='2.6' fill='"
                    + colour(row) + "' fill-opacity='0.5'/>");
        }
        var median = x(column, Math.log10(Evidence.at(values, 0.5)));
        svg.add("<line x1='" + median + "' y1='" + (y - 10) + "' x2='" + median + "' y2='" + (y + 10) + "' stroke='"
                + colour(row) + "' stroke-width='2.5'/>");
        if (values.size() < FEW) {
            svg.add(text(left(column), y + 4, "start", faint(), "n = " + values.size(), false));
        }
    }

    private void two(Row row, List<Double> values, int column, int y, List<String> svg) {
        if (values.isEmpty()) {
            svg.add(text(left(column), y + 4, "start", faint(), "not measured", false));
            return;
        }
        var millis = values.get(0);
        if (millis <= 0) {
            svg.add(text(left(column), y + 5, "start", colour(row), "0", true));
            return;
        }
        var end = Math.max(left(column) + 2, x(column, Math.log10(millis)));
        svg.add("<rect x='" + left(column) + "' y='" + (y - 6) + "' width='" + tenth(end - left(column))
                + "' height='12' fill='" + colour(row) + "'/>");
        svg.add(text(left(column) + 4, y + 4, "start", dark ? "#0d1117" : "#ffffff", shown(millis), true));
    }

    private static String shown(double millis) {
        return millis < 1_000
                ? String.format(Locale.ROOT, "%.0f ms", millis)
                : String.format(Locale.ROOT, "%.1f s", millis / 1_000);
    }

    private String head(int height) {
        return "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + WIDTH + " " + height
                + "' font-family='sans-serif' font-size='13' role='img' aria-label='How long nobody leads after the"
                + " leader is gone, and how long two led'>\n<rect width='100%' height='100%' rx='6' fill='"
                + (dark ? "#0d1117" : "#ffffff") + "'/>\n"
                + text(12, 22, "start", ink(), "How long nobody leads after the leader is gone", true) + "\n"
                + text(WIDTH - 12, 22, "end", faint(), "logarithmic; a dot for each round, a bar at the median", false)
                + "\n";
    }

    private static String lease(Row row) {
        return ", lease " + row.leaseMs / 1_000 + " s";
    }

    private static double left(int column) {
        return LEFT + column * panel();
    }

    private static double panel() {
        return (WIDTH - LEFT) / (double) COLUMNS.size();
    }

    /** To a tenth of a unit of the picture. What is shorter than the axis stands at its left end. */
    private static double x(int column, double decade) {
        var share = (Math.max(LEAST_DECADE, decade) - LEAST_DECADE) / (MOST_DECADE - LEAST_DECADE);
        return tenth(left(column) + (panel() - GAP) * share);
    }

    private static double tenth(double value) {
        return Math.round(10 * value) / 10.0;
    }

    private String colour(Row row) {
        if (row.who.equals(OURS)) {
            return dark ? "#58a6ff" : "#0969da";
        }
        return dark ? "#f0883e" : "#bc4c00";
    }

    private String ink() {
        return dark ? "#e6edf3" : "#1f2328";
    }

    private String faint() {
        return dark ? "#9198a1" : "#59636e";
    }

    private String grid() {
        return dark ? "#21262d" : "#e4e8ec";
    }

    private static String line(double fromX, double fromY, double toX, double toY, String colour) {
        return "<line x1='" + tenth(fromX) + "' y1='" + fromY + "' x2='" + tenth(toX) + "' y2='" + toY + "' stroke='"
                + colour + "'/>";
    }

    private static String text(double x, int y, String anchor, String colour, String text, boolean bold) {
        return "<text x='" + tenth(x) + "' y='" + y + "' text-anchor='" + anchor + "' fill='" + colour + "'"
                + (bold ? " font-weight='bold'" : "") + ">" + Plot.escape(text) + "</text>";
    }
}
