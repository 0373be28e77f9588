package dev.drover.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The module table of the design, as rules: who may use whom, and how long a file may be. */
final class ArchitectureTest {

    private static final int MAX_LINES = 800;

    private static final String IR = "dev.drover.ir..";
    private static final String SAFETENSORS = "dev.drover.safetensors..";
    private static final String IMPORTERS = "dev.drover.importers..";
    private static final String MODELS = "dev.drover.models..";
    private static final String SOLVER = "dev.drover.solver..";
    private static final String PLAN = "dev.drover.plan..";
    private static final String PLANNER = "dev.drover.planner..";
    private static final String RUNTIME = "dev.drover.runtime..";
    private static final String TORCH = "dev.drover.backend.torch..";
    private static final String CLI = "dev.drover.cli..";
    private static final String REPORT = "dev.drover.report..";
    private static final String[] ALL = {
        IR, SAFETENSORS, IMPORTERS, MODELS, SOLVER, PLAN, PLANNER, RUNTIME, TORCH, CLI, REPORT
    };

    private static JavaClasses drover = new ClassFileImporter().importClasses();

    @BeforeAll
    static void importClasses() {
        drover = new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("dev.drover");
    }

    @Test
    void irUsesTheJdkOnly() {
        check(classes()
                .that()
                .resideInAPackage(IR)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(IR, "java..", "org.jspecify..", "com.google.errorprone.annotations.."));
    }

    @Test
    void irKnowsNoMesh() {
        check(noClasses().that().resideInAPackage(IR).should().haveSimpleNameContaining("Mesh"));
        check(noClasses().that().resideInAPackage(IR).should().haveSimpleNameContaining("Stage"));
        check(noClasses().that().resideInAPackage(IR).should().haveSimpleNameContaining("MicroBatch"));
    }

    @Test
    void modulesUseOnlyWhatTheTableAllows() {
        allow(SAFETENSORS, IR);
        allow(IMPORTERS, IR);
        allow(MODELS, IR);
        allow(SOLVER);
        allow(PLAN, IR);
        allow(PLANNER, IR, PLAN, SOLVER);
        allow(RUNTIME, IR, PLAN, SAFETENSORS);
        allow(TORCH, IR, PLAN, RUNTIME);
    }

    @Test
    void plannerAndRuntimeMeetOnlyInThePlan() {
        check(noClasses()
                .that()
                .resideInAPackage(PLANNER)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(RUNTIME));
        check(noClasses()
                .that()
                .resideInAPackage(RUNTIME)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(PLANNER));
    }

    @Test
    void nativeCodeStaysInItsModules() {
        check(noClasses()
                .that()
                .resideOutsideOfPackage(TORCH)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.bytedeco.."));
        check(noClasses()
                .that()
                .resideOutsideOfPackage(PLANNER)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.google.ortools.."));
    }

    @Test
    void nobodyUsesTheCommandLine() {
        check(noClasses()
                .that()
                .resideOutsideOfPackages(CLI, REPORT)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(CLI, REPORT));
    }

    @Test
    void noSourceFileIsTooLong() throws IOException {
        List<String> tooLong = new ArrayList<>();
        try (Stream<Path> modules = Files.list(Path.of("").toAbsolutePath().resolveSibling("."))) {
            for (Path sources : modules.map(m -> m.resolve("src"))
                    .filter(Files::isDirectory)
                    .toList()) {
                addTooLong(sources, tooLong);
            }
        }
        assertThat(tooLong)
                .as("source files with more than %d lines", MAX_LINES)
                .isEmpty();
    }

    private static void addTooLong(Path sources, List<String> tooLong) throws IOException {
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
                int lines = Files.readAllLines(file).size();
                if (lines > MAX_LINES) {
                    tooLong.add(file + ": " + lines);
                }
            }
        }
    }

    /** Classes of {@code module} may use no other module of ours than {@code allowed}. */
    private static void allow(String module, String... allowed) {
        List<String> forbidden = new ArrayList<>(List.of(ALL));
        forbidden.remove(module);
        forbidden.removeAll(List.of(allowed));
        check(noClasses()
                .that()
                .resideInAPackage(module)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(forbidden.toArray(new String[0])));
    }

    private static void check(ArchRule rule) {
        rule.allowEmptyShould(true).check(drover);
    }
}
