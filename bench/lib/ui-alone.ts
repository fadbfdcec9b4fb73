// uPlot without the dashboard, for comparison: the same number of points, panned in the same way.
import uPlot from "uplot";

interface Alone {
  /** Draws curves of so many points each. */
  draw(lines: number, points: number): void;
  pan(frames: number): Promise<void>;
}

let plot: uPlot | undefined;
let last = 0;

const alone: Alone = {
  draw(lines, points) {
    plot?.destroy();
    last = points;
    const x = Float64Array.from({ length: points }, (_, i) => i);
    const curves = Array.from({ length: lines }, (_, line) =>
      x.map((i) => 0.05 + 2 * Math.exp((-6 * i) / points) + 0.2 * Math.abs(Math.sin(12.9898 * (i + 1) * (line + 1)))),
    );
    const series = curves.map((_, i) => ({ stroke: `hsl(${i * 37} 60% 45%)`, width: 1.5, points: { show: false } }));
    const scales = { x: { time: false, auto: false } };
    const options = { width: 1440, height: 320, legend: { show: false }, scales, series: [{}, ...series] };
    plot = new uPlot(options, [x, ...curves] as uPlot.AlignedData, document.body);
    plot.setScale("x", { min: 0, max: points });
  },
  async pan(frames) {
    for (let i = 0; i < frames; i++) {
      const by = (last * 200 * Math.sin(i / 9)) / 1440;
      plot!.setScale("x", { min: by, max: last + by });
      await new Promise((resolve) => void requestAnimationFrame(resolve));
    }
  },
};
(globalThis as unknown as { alone: Alone }).alone = alone;
