import { Space } from "../../src/tune/space/space.ts";
import type { Params } from "../../src/tune/types.ts";
interface BenchmarkFunction {
    readonly space: Space;
    readonly least: number;
    at(params: Params): number;
}
/** Three equal valleys in two dimensions. */
export declare const branin: BenchmarkFunction;
/** Four pits of different depth in six dimensions. */
export declare const hartmann6: BenchmarkFunction;
export {};
