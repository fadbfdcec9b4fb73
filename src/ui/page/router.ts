// What is shown is in the address, after the `#`: a link is a view, and "back" goes back.
import { computed, signal } from "@preact/signals";

export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

function read(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

export const route = signal<Route>(read());
addEventListener("hashchange", () => {
  route.value = read();
});

export type Query = Readonly<Record<string, string | number | undefined>>;

/** The address of a view, for links. */
export function href(path: readonly string[], query: Query = {}): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
  // Commas and slashes are legal there, and a person may read the address.
  const readable = search.replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":");
  return `#/${path.map(encodeURIComponent).join("/")}${readable ? `?${readable}` : ""}`;
}

export function go(path: readonly string[], query: Query = {}): void {
  location.hash = href(path, query);
}

/** Changes some of the view's settings; `undefined` takes one away. Does not add to the history. */
export function setQuery(changes: Query): void {
  const { path, query } = route.peek();
  const next = { ...Object.fromEntries(query), ...changes };
  history.replaceState(null, "", href(path, next));
  route.value = read();
}

/** A setting of the view. */
export const setting = (name: string): string | undefined => route.value.query.get(name) ?? undefined;
export const numberSetting = (name: string): number | undefined => {
  const text = setting(name);
  return text === undefined || text === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
};
export const listSetting = (name: string): readonly string[] => setting(name)?.split(",").filter(Boolean) ?? [];

export const pageName = computed(() => route.value.path[0] ?? "runs");
