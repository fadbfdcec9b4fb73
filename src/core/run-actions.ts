// What the verbs do to a run, once the context has allowed and recorded them.
import type { Run, RunHost } from "./run.ts";
import type { Actions } from "./run-view.ts";
import type { SaveRequest } from "./saving.ts";
import type { SkipScope } from "./verbs.ts";

export function makeActions(run: Run, host: RunHost): Actions {
  const { requests } = run;
  const wider: Record<SkipScope, number> = { batch: 0, step: 1, epoch: 2, save: 3 };
  return {
    stop: (reason, by, entry) => void (requests.stop ??= { reason, by, entry }),
    skip: (scope) =>
      void (requests.skip = requests.skip && wider[requests.skip] > wider[scope] ? requests.skip : scope),
    replaceBatch: (batch) => void (requests.batch = batch),
    scaleLoss: (k) => void (requests.scale *= k),
    setAccumulate: (n) => void (run.accumulate = n),
    requestEval: () => void (requests.eval = true),
    requestSave: (request, at) => {
      if (at === "end") requests.saveAtEnd = merged(requests.saveAtEnd, request);
      else requests.save = merged(requests.save, request);
    },
    rollback: (to, by, reason) => void (requests.rollback ??= { to, by, reason }),
    log: (values) => run.log.report(values),
    setLoss: (loss) => host.settings().setLoss(loss),
    ratesFor: (lr) => host.settings().ratesFor(lr),
    setRates: (rates) => host.settings().setRates(rates),
    assign: (optimizer, group, values) => host.settings().assign(optimizer, group, values),
    setUpdate: (update) => host.settings().setUpdate(update),
    frozenBy: (filter) => host.settings().frozenBy(filter),
    freeze: (names) => host.settings().freeze(names),
    setParams: (params) => host.settings().setParams(params),
    swapParams: (params) => host.evalWork().swapParams(params),
  };
}

/** One save for all who ask: the first to say so decides on name and format, and one who wants it verified is enough. */
function merged(first: SaveRequest | undefined, next: SaveRequest): SaveRequest {
  if (!first) return next;
  const by = [...new Set([...first.by, ...next.by])];
  // The reason that says more: `best` and the like over what just came round.
  const reason = ["interval", "request"].includes(first.reason) ? next.reason : first.reason;
  return { ...next, ...first, reason, by, verify: first.verify === true || next.verify === true };
}
