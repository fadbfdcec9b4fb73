// Images with augmentation: `npx tsx examples/recipes/augmented-images.ts`. With few images, each of them shifted and
// turned a little differently in every epoch, a network reads digits better than from the images alone.
import { Trainer } from "hookline";
import { DataLoader, type Dataset, type Rng } from "hookline/data";
import { accuracy, conv2d, crossEntropy, flatten, linear, maxPool2d, relu, sequential } from "hookline/nn";
import { adam, cosine } from "hookline/optim";
import { mnist } from "../mnist/data.ts";

const quick = process.argv.includes("--quick"); // the tests run it so
const count = quick ? 200 : 1000; // of 60,000
const epochs = quick ? 12 : 20;
const side = 28;

/** The image, turned by up to 15° and shifted by up to 2 pixels: each pixel is read from where it came from. */
function jitter(image: Float32Array, rng: Rng): Float32Array {
  const angle = (rng.next() - 0.5) * (Math.PI / 6);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const [dx, dy] = [(rng.next() - 0.5) * 4, (rng.next() - 0.5) * 4];
  const centre = (side - 1) / 2;
  return Float32Array.from(image, (_, i) => {
    const [x, y] = [(i % side) - centre - dx, Math.floor(i / side) - centre - dy];
    const [column, row] = [Math.round(cos * x + sin * y + centre), Math.round(cos * y - sin * x + centre)];
    return row >= 0 && row < side && column >= 0 && column < side ? image[side * row + column]! : 0;
  });
}

const { x, y } = mnist("train");
const pixels = x.data as Float32Array;
const imageAt = (i: number) => pixels.subarray(784 * i, 784 * (i + 1));

/** `rng` depends on seed, epoch and index: another shift in every epoch, and the same one after a resume. */
const images = (augment: boolean): Dataset<{ x: { data: Float32Array; shape: number[] }; y: number }> => ({
  length: count,
  get: (i, { rng }) => ({
    x: { data: augment ? jitter(imageAt(i), rng) : imageAt(i), shape: [1, side, side] },
    y: y.data[i]!,
  }),
});

const test = mnist("test");
const held = quick ? 1000 : 10_000;
const testLoader = new DataLoader(
  {
    x: { data: test.x.data.subarray(0, 784 * held), shape: [held, 1, side, side] },
    y: { ...test.y, data: test.y.data.subarray(0, held), shape: [held] },
  },
  { batchSize: 200 },
);

for (const augment of [false, true]) {
  await using trainer = new Trainer({
    model: sequential(
      conv2d(1, 8, { kernel: 5, padding: 2 }),
      relu(),
      maxPool2d(2),
      conv2d(8, 16, { kernel: 5 }),
      relu(),
      maxPool2d(2),
      flatten(),
      linear(16 * 25, 10),
    ),
    loss: crossEntropy(),
    metrics: { accuracy: accuracy() },
    optimizer: adam({ lr: 3e-3 }),
    schedule: cosine(),
    train: new DataLoader(images(augment), { batchSize: 20, shuffle: true, dtypes: { y: "int32" } }),
    epochs,
  });
  await trainer.fit();
  const result = await trainer.evaluate(testLoader);
  console.log(`${augment ? "with" : "without"} augmentation: ${(100 * result["test/accuracy"]!).toFixed(1)} %`);
}
