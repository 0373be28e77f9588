package dev.drover.models;

import java.util.List;

/** A family of models: one line of {@link Zoo#ALL}. */
public interface ModelKind {

    /** The name before the colon. */
    String name();

    /** One line for people. */
    String description();

    /** The keys that may follow. */
    List<ModelOption> options();

    /** A name to start from. */
    String example();

    /** Builds the model; fails where options do not fit together. */
    Model build(ModelOptions options);
}
