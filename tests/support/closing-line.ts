// A reporter that ends the run with one plain line, `N passed, N failed, N skipped`, for people and machines that read only that.
import type { Reporter, TestModule } from "vitest/node";

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      if (module.state() === "failed" && module.errors().length > 0) count.failed++;
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        if (state !== "pending") count[state]++;
      }
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${skipped}\n`);
  }
}
