// Run before every test file: fails a file that leaves a file of the disk open. Node ends a process that loses an open file handle,
// at some later garbage collection, in the middle of other tests.
import { readdirSync, readlinkSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';

const own = '/proc/self/fd';
/** Files that a stopped part still closes; 20 looks in a row make up a second. */
const looks = 20;
const pauseMs = 50;

/** Descriptors of files on the disk, not of sockets and pipes. Empty where the system does not tell. */
function openFiles(): Map<string, string> {
  const found = new Map<string, string>();
  if (process.platform !== 'linux') return found;
  for (const descriptor of readdirSync(own)) {
    const path = pathOf(descriptor);
    if (path?.startsWith('/') && !path.startsWith('/dev/')) found.set(descriptor, path);
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

let before = new Map<string, string>();

beforeAll(() => {
  before = openFiles();
});

afterAll(async () => {
  let left: string[] = [];
  for (let look = 0; look < looks; look++) {
    left = [...openFiles()].filter(([descriptor, path]) => before.get(descriptor) !== path).map(([, path]) => path);
    if (left.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`wanted every file closed at the end of a test file, found open: ${left.join(', ')}`);
});
