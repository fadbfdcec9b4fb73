// Images and texts that a run has logged: by name, with a slider of steps, and two steps side by side.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RunPage, TextsAnswer } from "../../wire.ts";
import { explain, get, mediaAddress } from "../data/api.ts";
import * as format from "../format.ts";
import { Empty, ErrorNote } from "../parts/empty.tsx";
import { numberSetting, setQuery, setting } from "../router.ts";
import type { TabProps } from "./run-page.tsx";

type Media = RunPage["media"][number];

export function MediaTab({ run, page }: TabProps) {
  const { media } = page;
  if (media.length === 0)
    return (
      <Empty title="No images and no texts." line={"ctx.log({ sample: image({ data, shape: [28, 28] }) })"}>
        <p>A hook logs them like numbers:</p>
      </Empty>
    );
  const chosen = media.find(({ name }) => name === setting("name")) ?? media[0]!;
  return (
    <>
      <div class="bar">
        <label>
          name
          <select
            value={chosen.name}
            onChange={(event) => setQuery({ name: event.currentTarget.value, a: undefined, b: undefined })}
          >
            {media.map(({ name, kind }) => (
              <option key={name} value={name}>
                {name} ({kind})
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="sides">
        <Side key={`a ${chosen.name}`} run={run.id} media={chosen} side="a" first={0} />
        {chosen.steps.length > 1 && (
          <Side key={`b ${chosen.name}`} run={run.id} media={chosen} side="b" first={chosen.steps.length - 1} />
        )}
      </div>
    </>
  );
}

/** The step is in the address, so that a link shows the same two. */
function Side({ run, media, side, first }: { run: string; media: Media; side: "a" | "b"; first: number }) {
  const wanted = numberSetting(side);
  const found = wanted === undefined ? first : media.steps.indexOf(wanted);
  const index = found < 0 ? first : found;
  const step = media.steps[index] ?? 0;
  return (
    <section>
      <label>
        step {format.integer(step)}
        <input
          type="range"
          min={0}
          max={media.steps.length - 1}
          value={index}
          aria-valuetext={`step ${step}`}
          onInput={(event) => setQuery({ [side]: media.steps[Number(event.currentTarget.value)] })}
        />
      </label>
      {media.kind === "image" ? (
        <img src={mediaAddress(run, media.name, step)} alt={`${media.name} at step ${step}`} />
      ) : (
        <Text run={run} name={media.name} step={step} />
      )}
    </section>
  );
}

/** As it was logged: nothing in it is interpreted. */
function Text({ run, name, step }: { run: string; name: string; step: number }) {
  const texts = useSignal<TextsAnswer["texts"]>([]);
  const error = useSignal<string | null>(null);
  useEffect(() => {
    get<TextsAnswer>(`runs/${run}/texts?${new URLSearchParams({ name }).toString()}`).then(
      (answer) => (texts.value = answer.texts),
      (problem: unknown) => (error.value = explain(problem)),
    );
  }, [run, name, step]);
  if (error.value !== null) return <ErrorNote message={error.value} />;
  return <pre>{texts.value.find((each) => each.step === step)?.text ?? "…"}</pre>;
}
