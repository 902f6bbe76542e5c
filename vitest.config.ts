// vitest.config.ts — one project per suite that vitest runs; tests/run.ts lists them all, and those it does not run.
import { defineConfig } from 'vitest/config'

/** Suites that own a server or a stack run their files one after the other: two cores, and timings that mean something. */
const serial = { fileParallelism: false, testTimeout: 60_000, hookTimeout: 120_000 }

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['tests/unit/**/*.test.ts'] } },
      { test: { name: 'property', include: ['tests/property/**/*.test.ts'], ...serial } },
      { test: { name: 'roads', include: ['tests/roads/**/*.test.ts'], ...serial, testTimeout: 180_000 } },
      { test: { name: 'stack', include: ['tests/stack/**/*.test.ts'], ...serial } },
      { test: { name: 'e2e', include: ['tests/e2e/**/*.test.ts'], ...serial } },
      { test: { name: 'crash', include: ['tests/crash/**/*.test.ts'], ...serial } },
      { test: { name: 'package', include: ['tests/package/**/*.test.ts'], ...serial, testTimeout: 180_000 } },
    ],
  },
})
