// A page that trains a model in a worker and draws its loss as it falls. `npx vite examples/vite-page` serves it.
import type { ToPage, ToWorker } from "./messages.ts";

const chart = document.querySelector<HTMLCanvasElement>("#chart")!;
const trainButton = document.querySelector<HTMLButtonElement>("#train")!;
const stopButton = document.querySelector<HTMLButtonElement>("#stop")!;
const status = document.querySelector<HTMLOutputElement>("#status")!;

// This form, with the URL inside `new Worker`, is what Vite and other bundlers recognize.
const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
const send = (message: ToWorker): void => worker.postMessage(message);

const losses: number[] = [];

/** The whole curve, from left to right; the highest loss is at the top. */
function draw(): void {
  const pen = chart.getContext("2d")!;
  const highest = Math.max(...losses);
  pen.clearRect(0, 0, chart.width, chart.height);
  pen.strokeStyle = "#06c";
  pen.lineWidth = 2;
  pen.beginPath();
  for (const [i, loss] of losses.entries())
    pen.lineTo((i / Math.max(losses.length - 1, 1)) * chart.width, (1 - loss / highest) * (chart.height - 4) + 2);
  pen.stroke();
}

/** Many steps may report between two frames of the screen: one drawing serves them all. */
let drawing = 0;
const drawSoon = (): void => {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    draw();
  });
};

function showRunning(running: boolean): void {
  trainButton.disabled = running;
  stopButton.disabled = !running;
}

worker.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  if (data.kind === "loss") {
    losses.push(data.loss);
    drawSoon();
  } else if (data.kind === "epoch") status.value = `epoch ${data.epoch}: ${(100 * data.accuracy).toFixed(1)} %`;
  else {
    showRunning(false);
    status.value = data.kind === "end" ? `${data.status} on ${data.device}; ${status.value}` : data.message;
  }
});

trainButton.addEventListener("click", () => {
  losses.length = 0;
  showRunning(true);
  send({ do: "train", epochs: 30 });
});
stopButton.addEventListener("click", () => send({ do: "stop" }));
