package dev.drover.plan.schedule;

import dev.drover.ir.UserError;
import java.util.List;
import java.util.stream.Collectors;

/** Every kind of schedule, by name. */
public final class Schedules {
    /** In order of the names; kFkB stands here with k=2 and k=4. */
    public static final List<ScheduleKind> ALL =
            List.of(new Kfkb(1), new Eager1f1b(), new Gpipe(), new Kfkb(2), new Kfkb(4));

    private static final String KFKB = "kfkb:";

    private Schedules() {}

    /** The kind of this name; {@code kfkb:K} for any K from 1. Fails with {@link UserError}. */
    public static ScheduleKind byName(String name) {
        for (ScheduleKind kind : ALL) {
            if (kind.name().equals(name)) {
                return kind;
            }
        }
        if (name.matches("kfkb:[1-9]\\d{0,8}")) {
            return new Kfkb(Integer.parseInt(name.substring(KFKB.length())));
        }
        throw new UserError(
                "The schedule (" + name + ") must be one of "
                        + ALL.stream().map(ScheduleKind::name).collect(Collectors.joining(", ")) + ".",
                "Maybe write kfkb:K for another group size K.");
    }
}
