package dev.drover.planner.search;

/** Hears what a search does. */
@FunctionalInterface
public interface SearchListener {
    /** Says nothing. */
    SearchListener SILENT = line -> {};

    /** One line for people: a candidate and how it did. */
    void progress(String line);
}
