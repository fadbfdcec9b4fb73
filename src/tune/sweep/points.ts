// Points of a sweep's space at which its experiment is checked before the first trial, and the config at such a point.
import { Rng } from "../../data/random.ts";
import type { ConfigDocument } from "../../experiment/config/document.ts";
import { documentOf } from "../../experiment/config/read-config.ts";
import { drawParams } from "../samplers/random.ts";
import type { Space } from "../space/space.ts";
import type { Params } from "../types.ts";
import { applyParams } from "./apply-params.ts";
import type { SweepDocument } from "./read-sweep.ts";
import { placeOf } from "./sweep-space.ts";

/** At most so many options of a choice are visited. */
const MOST = 20;

/** Both ends of every number, and every option of every choice. */
export function* corners(space: Space): Iterable<Params> {
  const options = space.parameters.map((parameter) => (parameter.kind === "choice" ? parameter.labels.length : 2));
  const count = Math.min(MOST, Math.max(...options));
  for (let i = 0; i < count; i++) {
    yield space.build((parameter) =>
      parameter.kind === "choice"
        ? Math.min(i, parameter.labels.length - 1)
        : i % 2 === 0
          ? parameter.domain.low
          : parameter.domain.high,
    );
  }
}

/** The first two corners, then points drawn at random, always the same ones. */
export function pointsOf(space: Space, count: number): readonly Params[] {
  const ends = [...corners(space)].slice(0, 2);
  const drawn = Array.from({ length: count - ends.length }, (_, i) => drawParams(space, new Rng(0, i)));
  return [...new Map([...ends, ...drawn].map((params) => [JSON.stringify(params), params])).values()];
}

/** The config of the experiment with these parameters. */
export function configAt({ doc, experiment }: SweepDocument, space: Space, params: Params): Promise<ConfigDocument> {
  const directory = doc.directoryOf(["space"]);
  const at = (path: readonly string[]) => doc.locate(placeOf(doc.value["space"], path.join("."))) ?? { file: doc.file };
  return documentOf(applyParams(experiment!.tree, space, params, { at, directory }), { ...experiment!, set: [] });
}
