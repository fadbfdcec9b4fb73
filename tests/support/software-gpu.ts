// WebGPU without a GPU: SwiftShader, the Vulkan in software that comes with Debian's Chromium. Slow, but its results count.
import { existsSync } from "node:fs";

const CHROMIUM = "/usr/lib/chromium";
const DRIVER = `${CHROMIUM}/vk_swiftshader_icd.json`;

/** What a process needs from its start in order to find it; undefined where it is not installed. */
export const softwareGpu: Readonly<Record<string, string>> | undefined =
  existsSync(`${CHROMIUM}/libvulkan.so.1`) && existsSync(DRIVER)
    ? { VK_ICD_FILENAMES: DRIVER, LD_LIBRARY_PATH: CHROMIUM }
    : undefined;
