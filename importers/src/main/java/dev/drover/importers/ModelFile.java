package dev.drover.importers;

import dev.drover.importers.roles.RoleFinder;
import dev.drover.importers.roles.RolesFile;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.text.HloReader;
import java.nio.file.Files;
import java.nio.file.Path;

/** A model in a file: the graph, the roles that are found in it, and the side file {@code MODEL.roles.json} that corrects them. */
public final class ModelFile {
    private static final String ROLES_SUFFIX = ".roles.json";

    private ModelFile() {}

    /** The training step in a file. */
    public static TrainingStep load(Path model) {
        TrainingStep found = RoleFinder.find(graph(model));
        Path roles = rolesFile(model);
        return Files.exists(roles) ? RolesFile.correct(found, roles) : found;
    }

    /** The graph alone. */
    public static Graph graph(Path model) {
        return HloReader.read(model);
    }

    /** Where a model's side file is looked for. */
    public static Path rolesFile(Path model) {
        return model.resolveSibling(model.getFileName() + ROLES_SUFFIX);
    }
}
