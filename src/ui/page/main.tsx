// The dashboard's entry.
import { render } from "preact";
import { Shell } from "./shell.tsx";

render(<Shell />, document.querySelector("#app")!);
