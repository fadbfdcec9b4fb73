// Before the tests of `npm run test:webgpu`: without a GPU of their own (HOOKLINE_TEST_GPU=own), SwiftShader.
import { softwareGpu } from "../../support/software-gpu.ts";

export default function setup(): void {
  if (process.env.HOOKLINE_TEST_GPU === "own") return;
  if (!softwareGpu) {
    throw new Error("These tests need SwiftShader (apt-get install chromium), or a GPU: HOOKLINE_TEST_GPU=own.");
  }
  Object.assign(process.env, softwareGpu);
}
