#!/usr/bin/env node
// Starts Hostward under a Node that can run it. Plain JavaScript, since an old Node reads it first. From a checkout it runs
// the sources, from a package the bundle.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chooseHere, fail, handOver, isInstalled } from './launch.mjs';

// V8 flags per command, by the figures of bench/. A young generation that holds the garbage of a burst costs less than
// copying it about; one helper thread, since more of them take the processor from the API servers beside us; and a collector
// to call, for giving back what a burst has taken (cli/give-back-memory). The old generation grows as V8 likes: held to a
// fifth, it was collected every few seconds, 30 ms each time. Only for the Node that they were measured with, since an
// unknown flag keeps a newer one from starting.
const heapFlags = {
  // A word that is no command must not find what every object has.
  __proto__: null,
  run: ['--max-semi-space-size=16', '--v8-pool-size=1', '--expose-gc'],
};

// The C library would keep a heap for each thread, of which only one is ever busy: 6 MB for nothing. A value that the user
// has set stays.
const environments = {
  __proto__: null,
  run: { MALLOC_ARENA_MAX: '1' },
};

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const words = process.argv.slice(2);

void start();

function start() {
  // Node refuses to strip types below node_modules, so a package carries the bundle and no sources.
  const source = join(root, 'src', 'main.ts');
  const entry = existsSync(source) ? source : join(root, 'dist', 'main.js');
  if (!existsSync(entry)) return fail(`"${entry}" is missing: run npm run build, or install the package again`);
  if (!isInstalled(root)) return fail('its dependencies are not installed: run npm ci');
  const choice = chooseHere(import.meta.url);
  if (choice.kind === 'none') return fail(choice.sentence);
  const flags = heapFlags[words[0]] || [];
  if (choice.kind === 'this' && flags.length === 0) return runHere(entry);
  const program = choice.kind === 'this' ? process.execPath : choice.program;
  const env = { ...environments[words[0]], ...process.env };
  return handOver(program, [...flags, entry, ...words], { env, isWatched: true });
}

function runHere(entry) {
  // The program finds its own words at the same place, whether it was started here or by a launcher.
  process.argv[1] = entry;
  return import(`file://${encodeURI(entry).replace(/[?#]/g, encodeURIComponent)}`);
}
