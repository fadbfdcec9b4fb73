// studyReport: a study as a page to read, in Markdown and as one HTML file that needs nothing else.
import type { TrialInfo } from "../../core/tune.types.ts";
import type { Space } from "../space/space.ts";
import type { Objective } from "../types.ts";
import { factsOf } from "./facts.ts";
import { markdownReport } from "./markdown.ts";
import { htmlReport } from "./page.ts";

/** What is reported on: a Study is one, and so is what its journal tells. */
export interface ReportedStudy {
  readonly name: string;
  readonly space: Space;
  readonly objectives: readonly Objective[];
  readonly trials: readonly TrialInfo[];
  /** Seconds that it has run. */
  readonly elapsed?: number;
  /** How it ended, and why: as `run()` returned it. */
  readonly status?: string;
  readonly reason?: string;
}

/** The report of a study, in Markdown and as a page. */
export interface StudyReport {
  readonly markdown: string;
  /** A whole file: charts and styles are in it, nothing is loaded. */
  readonly html: string;
}

/** @example writeFileSync("report.html", studyReport(study).html) */
export function studyReport(study: ReportedStudy): StudyReport {
  const facts = factsOf(study);
  return { markdown: markdownReport(facts), html: htmlReport(facts) };
}
