package dev.drover.solver;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Says in the words of this library what the JSON library finds wrong in a file. */
final class JsonMistake {
    /** What the JSON library says, what is told, and what to do. The first that fits counts. */
    private record Rule(Pattern said, String told, String maybe) {
        Rule(String said, String told, String maybe) {
            this(Pattern.compile(said, Pattern.DOTALL), told, maybe);
        }
    }

    private static final String DAMAGED = "Maybe the file was cut short or damaged.";

    private static final List<Rule> RULES = List.of(
            new Rule(
                    "Non-standard token '([^']+)'.*",
                    "$1 is no number",
                    "Maybe write 10^18 for what must not be chosen."),
            new Rule(
                    "Duplicate field '(.*)'",
                    "the member ($1) comes twice",
                    "Maybe one of both was left from an earlier version."),
            new Rule(
                    "Unexpected end-of-input.*",
                    "it ends in the middle of a list, an object or a value",
                    "Maybe the file was cut short."),
            new Rule(
                    ".*maybe a \\(non-standard\\) comment.*",
                    "comments are no part of it",
                    "Maybe take the comment out."),
            new Rule("Unexpected character \\('(.)' \\(code \\d+.*", "the character ($1) must not come here", DAMAGED),
            new Rule(
                    "Number value length \\((\\d+)\\) exceeds.*",
                    "a number of $1 characters is too long",
                    "Maybe write 10^18 for what must not be chosen."),
            new Rule(
                    "Document nesting depth \\(\\d+\\) exceeds.*",
                    "its lists and objects are nested too deep",
                    "Maybe it is a file of another kind."),
            new Rule("(.*?)(?: \\(|: enable|, from |\\n).*", "$1", DAMAGED),
            new Rule("(.*)", "$1", DAMAGED));

    private JsonMistake() {}

    /** Returns what to tell of a mistake in this file. */
    static SolverInputException told(String source, JsonProcessingException mistake) {
        JsonLocation where = mistake.getLocation();
        for (Rule rule : RULES) {
            Matcher said = rule.said.matcher(mistake.getOriginalMessage());
            if (said.matches()) {
                return new SolverInputException("The file (" + source + ") must be valid JSON: "
                        + said.replaceFirst(rule.told)
                        + (where == null ? "" : " at line " + where.getLineNr() + ", column " + where.getColumnNr())
                        + ".\n" + rule.maybe);
            }
        }
        throw new AssertionError(mistake);
    }
}
