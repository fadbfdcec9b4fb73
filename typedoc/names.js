// Calls the modules what one imports: `hookline/nn` instead of `nn`.
import { Converter } from "typedoc";

/** @param {import("typedoc").Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? [])
      module.name = module.name === "index" ? "hookline" : `hookline/${module.name}`;
  });
}
