#!/usr/bin/env node
// Starts Hostward under a Node that can run it. This file is plain JavaScript, because an old Node reads it first. It runs the
// sources of a checkout, and the bundle of a package.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  beginAgain,
  chooseHere,
  fail,
  handOver,
  isInstalled,
  leaveMemoryOutOfCores,
  say,
  withoutCoreFile,
} from './launch.mjs';

// V8 flags per command, chosen by the figures of bench/. A young generation that holds the garbage of a burst saves copying.
// More than one helper thread would take the processor from the API servers next to us. --expose-gc lets a process give memory
// back (daemon/process/keep-memory-small). The old generation has no flag: limited to a fifth, it was collected every few
// seconds, 30 ms each time. The flags fit only the Node that they were measured with, because another Node may refuse to start
// with an unknown flag.
const collects = '--expose-gc';
const heapFlags = {
  // Without a prototype, so that a word like "constructor" finds nothing.
  __proto__: null,
  run: ['--max-semi-space-size=16', '--v8-pool-size=1', collects],
  direct: [collects],
};

/** V8 takes half of a container's memory for objects, but never less than 256 MiB. In a small container that leaves too little for the rest. */
const leastOfV8 = 256;
const mib = 1024 * 1024;

/** A small container gets what V8 gives a large one: half. */
function oldSpaceFlags(limitBytes) {
  const half = Math.floor(limitBytes / 2 / mib);
  return half > 0 && half < leastOfV8 ? [`--max-old-space-size=${half}`] : [];
}

// These processes hold secrets for long. Without the flag, a signal would open the inspector, which reads the whole memory.
const servers = ['run', 'direct', 'demo', 'devcluster', 'playground'];
const serverFlags = ['--disable-sigusr1'];

// They open the inspector, write memory, requests or what was run into files and logs, or let a connection take any certificate. No child
// gets them either.
const exposing = [
  'NODE_OPTIONS',
  'NODE_DEBUG',
  'NODE_DEBUG_NATIVE',
  'NODE_V8_COVERAGE',
  'NODE_TLS_REJECT_UNAUTHORIZED',
];

// These go on when their terminal is closed. The others end as after Ctrl-C.
const daemons = ['run', 'direct'];

// The C library would keep a heap for each thread, although only one thread is busy: 6 MB are wasted. A value from the user
// wins.
const environments = {
  __proto__: null,
  run: { MALLOC_ARENA_MAX: '1' },
};

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const words = process.argv.slice(2);

const isDaemon = daemons.includes(words[0]);
// The program that takes the place of this process looks at its files after this moment.
if (isDaemon) process.on('SIGHUP', () => undefined);

void start();

function start() {
  // Node strips no types below node_modules, so a package contains the bundle and no sources.
  const source = join(root, 'src', 'main.ts');
  const entry = existsSync(source) ? source : join(root, 'dist', 'main.js');
  if (!existsSync(entry)) return fail(`"${entry}" is missing: run npm run build, or install the package again`);
  if (!isInstalled(root)) return fail('its dependencies are not installed: run npm ci');
  const choice = chooseHere(import.meta.url);
  if (choice.kind === 'none') return fail(choice.sentence);
  const isServer = servers.includes(words[0]);
  leaveMemoryOutOfCores();
  const given = exposing.filter((name) => Boolean(process.env[name]));
  for (const name of exposing) delete process.env[name];
  if (isServer && given.length > 0) {
    say(`${given.join(', ')} ${given.length === 1 ? 'is' : 'are'} not passed on, because they can expose secrets`);
    beginAgain();
  }
  if (choice.kind === 'this' && !isServer) return runHere(entry);
  const node = choice.kind === 'this' ? process.execPath : choice.program;
  const memory = isServer && process.constrainedMemory ? oldSpaceFlags(process.constrainedMemory()) : [];
  const flags = [...(heapFlags[words[0]] || []), ...memory, ...(isServer ? serverFlags : [])];
  const begin = isDaemon ? [join(root, 'src', 'launcher', 'begin.mjs')] : [];
  const [program, args] = withoutCoreFile(node, [...flags, ...begin, entry, ...words]);
  const env = { ...environments[words[0]], ...process.env };
  return handOver(program, args, { env, isWatched: true });
}

function runHere(entry) {
  // Puts the entry where Node would put it, so that the program finds its arguments at the same index.
  process.argv[1] = entry;
  return import(`file://${encodeURI(entry).replace(/[?#]/g, encodeURIComponent)}`);
}
