// Takes the picture of a study's report for tune.md: `npx tsx docs/report-picture.ts`, where Chromium is installed.
import { writeFileSync } from "node:fs";
import { studyReport } from "hookline/tune";
import { chromium } from "playwright-core";
import { exampleStudy } from "../tests/support/example-study.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 800, height: 600 }, colorScheme: "light" });
await page.setContent(studyReport(await exampleStudy({ trials: 30 })).html);
// The tables are as long as a study has trials: the picture is of the rest.
await page.addStyleTag({
  content: "section:not(:has(svg, .bars)) { display: none } .summary > :last-child { display: none }",
});
const picture = (await page.screenshot({ fullPage: true })).toString("base64");
// A third of the size of a PNG; the browser can make it.
const blank = await browser.newPage();
const webp = await blank.evaluate(async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  canvas.getContext("2d")!.drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.9);
}, picture);
writeFileSync(new URL("./images/study-report.webp", import.meta.url), Buffer.from(webp.split(",")[1]!, "base64"));
await browser.close();
