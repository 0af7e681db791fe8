import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const report = process.env['HOSTWARD_TEST_REPORT'];

// One project: whatever `npm test` can run with nothing but Node. Suites that want outside programs find them through
// KUBEBUILDER_ASSETS and say in their skip reason what they missed.
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // CI machines are small and shared: a deadline missed because the machine stood still is not a bug, missed twice it is.
    retry: process.env['CI'] ? 1 : 0,
    // CI adds up the reports.
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
