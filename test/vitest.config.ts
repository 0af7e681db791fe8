import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.ts';
import { memoryFolder } from './memory-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

// Programs that tests start are the sources: Node keeps what it made of them, so that a second start takes half the time.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules', '.cache', 'compiled');
// The benches set memory limits, against which such files would count, and are not started from here.
const memory = process.env['TMPDIR'] === undefined ? memoryFolder() : undefined;
if (memory !== undefined) process.env['TMPDIR'] = memory;

const report = process.env['HOSTWARD_TEST_REPORT'];

// One project with all tests. Suites that need outside programs find them through KUBEBUILDER_ASSETS, and name the missing
// programs in their skip reason.
export default defineConfig({
  root,
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // `npm test` has three, because tests also wait; suites with programs of other people have two.
    maxWorkers: 2,
    // A few processes run all files, because a process for each file would load the same modules again, for a third of the whole time.
    // So a file must take back what it changes in its process: flags, variables, listeners.
    isolate: false,
    // Node strips the types, as for the program; vite would transform a thousand files once more. No test replaces a module.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    // `npm cit` has three minutes. `.ci/run` asks for the tests with such names alone, and `-t` is stronger than this pattern.
    testNamePattern: /^(?!.*\(at length\)$)/,
    setupFiles: ['test/left-behind.ts', 'test/quick-handshakes.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Shared CI machines may stall, so one missed deadline is no bug there; two are.
    retry: process.env['CI'] ? 1 : 0,
    // CI adds up the reports.
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
