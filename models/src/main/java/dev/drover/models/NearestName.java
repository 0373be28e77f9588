package dev.drover.models;

import java.util.List;

/** Finds what was meant by a misspelt name. */
final class NearestName {
    private NearestName() {}

    /** The name with the smallest edit distance; the first of several. */
    static String of(String given, List<String> names) {
        String nearest = names.get(0);
        for (String name : names) {
            if (distance(given, name) < distance(given, nearest)) {
                nearest = name;
            }
        }
        return nearest;
    }

    /** Levenshtein's distance, one row at a time. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int substituted = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
