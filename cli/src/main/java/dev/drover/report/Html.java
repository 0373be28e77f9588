package dev.drover.report;

import java.util.List;

/** Text as HTML. */
final class Html {
    private Html() {}

    static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;")
                .replace("'", "&#39;");
    }

    /** A table whose first column and, where {@code textAtEnd}, last column are text; the others are numbers. */
    static String table(List<String> header, List<List<String>> rows, boolean textAtEnd) {
        StringBuilder html = new StringBuilder("<div class=scroll><table");
        html.append(textAtEnd ? " class=text-at-end" : "").append("><thead><tr>");
        header.forEach(cell -> html.append("<th>").append(escape(cell)));
        html.append("</thead><tbody>");
        for (List<String> row : rows) {
            html.append("<tr>");
            row.forEach(cell -> html.append("<td>").append(escape(cell)));
        }
        return html.append("</tbody></table></div>").toString();
    }

    static String table(List<String> header, List<List<String>> rows) {
        return table(header, rows, false);
    }
}
