// Where the files of tests lie: in memory, where there is enough. Tests write thousands of databases and ask for each write to reach the disk.
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
/** Many times what all tests write. A container mostly has 64 MiB, and such tests keep the disk. */
const enoughBytes = 4 * 1024 ** 3;

/** A folder in memory that goes with this process. Undefined where there is not enough, or where programs may not be started from it. */
export function memoryFolder(): string | undefined {
  if (!isUsable()) return undefined;
  const folder = mkdtempSync(join(memory, 'hostward-tests-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function isUsable(): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const options = mounts.map((line) => line.split(' ')).find(([, at]) => at === memory)?.[3];
    const { bavail, bsize } = statfsSync(memory);
    return options !== undefined && !options.split(',').includes('noexec') && bavail * bsize >= enoughBytes;
  } catch {
    return false;
  }
}
