import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const report = process.env['HOSTWARD_TEST_REPORT'];

// One project: all suites that `npm test` can run with Node alone. Suites that need other programs find them through
// KUBEBUILDER_ASSETS, and name a missing program in their skip reason.
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // CI machines are small and shared: one missed deadline may be the machine's fault, but two are a bug.
    retry: process.env['CI'] ? 1 : 0,
    // CI adds up the reports.
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
