package dev.drover.ir;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** The known name that an unknown one was probably meant to be. */
public final class Nearest {
    private Nearest() {}

    /** The candidate of least edit distance; the first of equals. There must be one. */
    public static String of(String unknown, Collection<String> candidates) {
        String best = "";
        int bestDistance = Integer.MAX_VALUE;
        for (String candidate : candidates) {
            int distance = distance(unknown, candidate);
            if (distance < bestDistance) {
                bestDistance = distance;
                best = candidate;
            }
        }
        return best;
    }

    /**
     * The candidates that may well be meant: those that hold the unknown name or are held by it, those that differ in a third of
     * their letters at most, and those that differ in one that is not the first; the nearest first, at most three, maybe none.
     */
    public static List<String> among(String unknown, Collection<String> candidates) {
        String wanted = unknown.toLowerCase(Locale.ROOT);
        return candidates.stream()
                .distinct()
                .filter(candidate -> {
                    String known = candidate.toLowerCase(Locale.ROOT);
                    boolean part = wanted.length() > 2
                            && known.length() > 2
                            && (known.contains(wanted) || wanted.contains(known));
                    int distance = distance(wanted, known);
                    return part
                            || 3 * distance <= Math.min(wanted.length(), known.length())
                            || (distance == 1 && sameFirstLetter(wanted, known));
                })
                .sorted(Comparator.comparingInt((String candidate) -> distance(unknown, candidate))
                        .thenComparing(candidate -> candidate))
                .limit(3)
                .toList();
    }

    private static boolean sameFirstLetter(String a, String b) {
        return !a.isEmpty() && !b.isEmpty() && a.charAt(0) == b.charAt(0) && Character.isLetter(a.charAt(0));
    }

    /**
     * What to say of an unknown name.
     *
     * @param message names all candidates
     * @param advice for the one that may well be meant, such as {@code "write %s"}; left out if none is near
     */
    public static UserError error(String message, String unknown, Collection<String> candidates, String advice) {
        List<String> near = among(unknown, candidates);
        return near.isEmpty()
                ? new UserError(message)
                : new UserError(message, "Maybe " + advice.replace("%s", near.get(0)) + ".");
    }

    /** Insertions, deletions and replacements that turn one text into the other. */
    static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
