// The thread that reads logs: a long one must not keep the server from answering. It keeps the stores of the runs that
// were asked for last, up to a limit of memory.
import { serve, threadData } from "../../../platform/thread.ts";
import { encodeSeries } from "../../series.ts";
import { RunStore, type CurveRequest, type RunContents, type RunNews } from "./run-store.ts";
import type { TextsAnswer } from "../../wire.ts";
import type { ReadStudyPage } from "../study-page.ts";
import type { MediaPlace } from "./media-list.ts";

/** Which run a request is about. */
interface OfRun {
  readonly dir: string;
}

export type ReadingRequest =
  | { readonly kind: "series"; readonly curves: readonly (CurveRequest & OfRun)[] }
  | { readonly kind: "heat"; readonly match: string; readonly curve: Omit<CurveRequest, "name">; readonly dir: string }
  | ({ readonly kind: "contents" } & OfRun)
  | ({ readonly kind: "news" } & OfRun)
  | ({ readonly kind: "media"; readonly name: string; readonly step: number } & OfRun)
  | ({ readonly kind: "texts"; readonly name: string } & OfRun)
  | ({ readonly kind: "study" } & OfRun);

export interface ReadingAnswers {
  readonly series: Uint8Array<ArrayBuffer>;
  readonly heat: Uint8Array<ArrayBuffer>;
  readonly contents: RunContents;
  readonly news: RunNews;
  readonly media: MediaPlace | undefined;
  readonly texts: TextsAnswer;
  readonly study: ReadStudyPage | undefined;
}

export interface ReadingData {
  /** Bytes of memory for stores; the last one is kept whatever it takes. */
  readonly cache: number;
  /** Milliseconds after which the answer is how much of a log has been read. */
  readonly patience: number;
}

/** The answer to a request about a log that is still being read. */
export interface StillReading {
  /** From 0 to 1. */
  readonly progress: number;
}

const { cache, patience } = threadData() as ReadingData;
/** The one that was used last is the last. */
const stores = new Map<string, RunStore>();

class NotYet extends Error {
  readonly progress: number;

  constructor(progress: number) {
    super("The log is being read");
    this.progress = progress;
  }
}

/** The store of a run, with all that the run has written up to now. Throws NotYet where that takes long; reading continues. */
async function open(dir: string): Promise<RunStore> {
  const store = stores.get(dir) ?? new RunStore(dir);
  stores.delete(dir);
  stores.set(dir, store);
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), patience)));
  const isLate = (await Promise.race([store.refresh(), late])) === "late";
  clearTimeout(timer!);
  if (isLate) throw new NotYet(store.progress);
  let bytes = [...stores.values()].reduce((sum, each) => sum + each.bytes, 0);
  for (const [name, each] of stores) {
    if (bytes <= cache || stores.size === 1 || each === store) break;
    stores.delete(name);
    bytes -= each.bytes;
  }
  return store;
}

async function answer(request: ReadingRequest): Promise<ReadingAnswers[keyof ReadingAnswers]> {
  if (request.kind === "series") {
    const opened = new Map<string, RunStore>();
    for (const { dir } of request.curves) if (!opened.has(dir)) opened.set(dir, await open(dir));
    return encodeSeries(request.curves.map(({ dir, ...curve }) => opened.get(dir)!.curve(curve)));
  }
  // Loaded when it is needed first: most directories have no studies.
  if (request.kind === "study") return (await import("../study-page.ts")).readStudyPage(request.dir);
  const store = await open(request.dir);
  if (request.kind === "heat")
    return encodeSeries(store.matching(request.match).map((name) => store.curve({ ...request.curve, name })));
  if (request.kind === "contents") return store.contents();
  if (request.kind === "texts") return { texts: store.texts(request.name) };
  if (request.kind === "media") return store.media(request.name, request.step);
  return store.news;
}

async function answerOrProgress(request: ReadingRequest): Promise<ReadingAnswers[keyof ReadingAnswers] | StillReading> {
  try {
    return await answer(request);
  } catch (error) {
    if (error instanceof NotYet) return { progress: error.progress };
    throw error;
  }
}

serve(answerOrProgress, (answered) => (answered instanceof Uint8Array ? [answered.buffer] : []));
