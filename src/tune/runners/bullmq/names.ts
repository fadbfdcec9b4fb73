// What a study's things are called in Redis.

/** What BullMQ's keys begin with. */
export const PREFIX = "hookline";

export interface Names {
  readonly queue: string;
  /** What all keys of BullMQ's queue begin with. */
  readonly queueKeys: string;
  /** BullMQ's own key of a job. */
  job(id: string): string;
  /** Key: who controls the study. */
  readonly claim: string;
  /** Channel: from workers to the controller. */
  readonly up: string;
  /** Channel: to one worker. */
  down(worker: string): string;
  /** Channel: to all workers, when the controller comes or goes. */
  readonly news: string;
}

/** Matches the claims of all studies. */
export const ALL_CLAIMS = `${PREFIX}-study:*:claim`;

/** The study of a claim's key; undefined where the key is not one that a study makes. */
export function studyOf(claim: string): string | undefined {
  try {
    const name = decodeURIComponent(claim.split(":")[1]!);
    return encodeURIComponent(name) === claim.split(":")[1] && !/\p{Cc}/u.test(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

export function namesOf(study: string): Names {
  // BullMQ parts its keys by colons, which a study's name may have.
  const queue = encodeURIComponent(study);
  const ours = `${PREFIX}-study:${queue}`;
  return {
    queue,
    queueKeys: `${PREFIX}:${queue}:`,
    job: (id) => `${PREFIX}:${queue}:${id}`,
    claim: `${ours}:claim`,
    up: `${ours}:up`,
    down: (worker) => `${ours}:down:${worker}`,
    news: `${ours}:news`,
  };
}
