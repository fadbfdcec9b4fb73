import { describe, expect, test } from "vitest";
import { fakeRegistry } from "../../tests/support/fake-run.ts";
import { HookRegistrationError } from "./errors.ts";
import {
  allEvents,
  BUILTIN_EVENTS,
  defineEvent,
  EVENTS,
  isCustomEvent,
  levelOf,
  methodOf,
  type CustomEvents,
  type EventName,
} from "./events.ts";

declare module "./events.ts" {
  interface CustomEvents {
    eventsTestDrift: { readonly drift: number };
  }
}

/** For names that no type allows. */
const define = defineEvent as (name: string) => string;

describe("the map", () => {
  test("a method is `on` and the event's name", () => {
    expect(methodOf("stepEnd")).toBe("onStepEnd");
    expect(BUILTIN_EVENTS.map((event) => methodOf(event).replace(/^on/, "").toLowerCase())).toEqual(
      BUILTIN_EVENTS.map((event) => event.toLowerCase()),
    );
  });

  test.each(BUILTIN_EVENTS)("%s says when it fires", (event) => {
    expect(EVENTS[event].when.length).toBeGreaterThan(10);
  });

  test("a hook may have every method", () => {
    const { hooks } = fakeRegistry();
    const everything = Object.fromEntries(BUILTIN_EVENTS.map((event) => [methodOf(event), () => {}]));
    hooks.add({ name: "everything", ...everything });
    expect(hooks.list()[0]!.events).toEqual(BUILTIN_EVENTS);
  });

  test("levels", () => {
    expect([levelOf("stepEnd"), levelOf("epochBegin"), levelOf("beforeForward"), levelOf("whatever")]).toEqual([
      "step",
      "epoch",
      "forward / backward",
      "custom",
    ]);
  });
});

describe("own events", () => {
  test("are listened to and fired like the others, and can be defined twice", async () => {
    expect(defineEvent("eventsTestDrift")).toBe("eventsTestDrift");
    defineEvent("eventsTestDrift");
    expect(isCustomEvent("eventsTestDrift")).toBe(true);
    expect(allEvents().filter((event) => event === "eventsTestDrift")).toHaveLength(1);
    const { hooks } = fakeRegistry();
    const seen: CustomEvents["eventsTestDrift"][] = [];
    hooks.add({ name: "watch", onEventsTestDrift: (ctx) => void seen.push(ctx.payload) });
    await hooks.fireCustom("eventsTestDrift", { drift: 0.5 });
    expect(seen).toEqual([{ drift: 0.5 }]);
  });

  test("the payload of the event around it comes back, also when a listener throws", () => {
    defineEvent("eventsTestDrift");
    const { hooks, run } = fakeRegistry();
    const outer = { drift: 1 };
    run.payload = outer;
    const dispose = hooks.add({ name: "fine", onEventsTestDrift: () => undefined });
    void hooks.fireCustom("eventsTestDrift", { drift: 2 });
    expect(run.payload).toBe(outer);
    dispose();
    hooks.add({
      name: "bad",
      onEventsTestDrift: () => {
        throw new Error("no");
      },
    });
    expect(() => hooks.fireCustom("eventsTestDrift", { drift: 2 })).toThrow("no");
    expect(run.payload).toBe(outer);
  });

  test("one that nobody listens to is no error", () => {
    defineEvent("eventsTestDrift");
    expect(fakeRegistry().hooks.fireCustom("eventsTestDrift")).toBeUndefined();
  });

  test("an event that was not made known is an error with the nearest", () => {
    defineEvent("eventsTestDrift");
    const { hooks } = fakeRegistry();
    expect(() => hooks.fireCustom("eventsTestDrfit")).toThrow(
      'There is no custom event `eventsTestDrfit`. Did you mean `eventsTestDrift`? Define it with defineEvent("eventsTestDrfit").',
    );
    expect(() => hooks.fireCustom("stepEnd")).toThrow("only the loop fires it");
  });

  test.each(["stepEnd", "close"])("%s is the loop's own", (name) => {
    expect(() => define(name)).toThrow(HookRegistrationError);
    expect(isCustomEvent(name)).toBe(false);
  });

  test.each(["", "Drift", "label-drift", "error"])("%o is no name", (name) => {
    expect(() => define(name)).toThrow("An event's name is in camelCase");
    expect(allEvents() as EventName[]).not.toContain(name);
  });
});

describe("an own event inside another event", () => {
  test("gives the turn back to the hook that fired it", async () => {
    defineEvent("eventsTestDrift");
    const { hooks, run } = fakeRegistry();
    let inner = "";
    hooks.add({ name: "inner", onEventsTestDrift: async (ctx) => void (inner = `${ctx.step}`) });
    hooks.add({
      name: "outer",
      async onStepEnd(ctx) {
        await hooks.fireCustom("eventsTestDrift");
        ctx.stop("drift");
      },
    });
    await hooks.fire.stepEnd!();
    expect(inner).toBe("0");
    expect(run.requests.stop).toMatchObject({ by: "outer" });
    expect(run.turn).toEqual({ event: null, ctx: null });
  });

  test("also when a listener of it throws", () => {
    defineEvent("eventsTestDrift");
    const { hooks, run } = fakeRegistry();
    hooks.add({
      name: "inner",
      onEventsTestDrift() {
        throw new Error("inner");
      },
    });
    hooks.add({
      name: "outer",
      onStepEnd(ctx) {
        expect(() => hooks.fireCustom("eventsTestDrift")).toThrow("Hook `inner` failed in `eventsTestDrift`");
        ctx.stop("after all");
      },
    });
    void hooks.fire.stepEnd!();
    expect(run.requests.stop).toMatchObject({ by: "outer", reason: "after all" });
  });
});
