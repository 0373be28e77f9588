package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.List;

/** What ops share that hand leaves on unchanged. */
final class PassThrough {
    private PassThrough() {}

    /** Leaf i of the operands is leaf i of the result; later operand leaves are free on their own. */
    static FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        int results = result.leaves().size();
        int leaves = 0;
        for (Shape operand : operands) {
            for (ArrayShape leaf : operand.leaves()) {
                List<List<Integer>> dims = rule.freeDims(leaf);
                rule.operand(dims);
                if (leaves++ < results) {
                    rule.result(dims);
                }
            }
        }
        return rule.build();
    }
}
