// Run before every test file: fails a file that leaves something behind for the next file, which runs in the same process. That
// is a file of the disk, because Node ends a process that loses an open file handle at some later garbage collection, and a
// global function that a test has replaced, because every wait of the next files may then last for ever.
import { readdirSync, readlinkSync } from 'node:fs';
import timers from 'node:timers';
import { afterAll, beforeAll } from 'vitest';

const own = '/proc/self/fd';
/** Files that a stopped part still closes; 20 looks in a row make up a second. */
const looks = 20;
const pauseMs = 50;
const timerNames = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval'] as const;

/** Descriptors of files, also those in memory, and not of sockets, pipes and devices. Empty where the system does not tell. */
function openFiles(): Map<string, string> {
  const found = new Map<string, string>();
  if (process.platform !== 'linux') return found;
  for (const descriptor of readdirSync(own)) {
    const path = pathOf(descriptor);
    if (path !== undefined && /^\/(?!dev\/(?!shm\/))/.test(path)) found.set(descriptor, path);
  }
  return found;
}

/** Undefined for the descriptor that read the folder, which is closed by now. */
function pathOf(descriptor: string): string | undefined {
  try {
    return readlinkSync(`${own}/${descriptor}`);
  } catch {
    return undefined;
  }
}

/** Puts the runtime's own timers back first, so that one file fails and not all that follow. */
function refuseReplacedTimers(when: string): void {
  const replaced = timerNames.filter((name) => globalThis[name] !== timers[name]);
  for (const name of replaced) Object.assign(globalThis, { [name]: timers[name] });
  if (replaced.length > 0)
    throw new Error(
      `wanted the timers of the runtime at the ${when} of a test file, found replaced: ${replaced.join()}`,
    );
}

let before = new Map<string, string>();

beforeAll(() => {
  refuseReplacedTimers('start');
  before = openFiles();
});

afterAll(async () => {
  refuseReplacedTimers('end');
  let left: string[] = [];
  for (let look = 0; look < looks; look++) {
    left = [...openFiles()].filter(([descriptor, path]) => before.get(descriptor) !== path).map(([, path]) => path);
    if (left.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`wanted every file closed at the end of a test file, found open: ${left.join(', ')}`);
});
