// A control group with a memory limit, as a container has one, below the group of this process. Undefined where none can be made:
// without the right to, or where the memory of the own group cannot be divided.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface MemoryGroup {
  /** A process that writes its number into this file belongs to the group, with all that it starts. */
  procs: string;
  /** Processes that were ended because the group was full. */
  killed(): number;
  /** What the kernel cannot take back: pages without a file. The limit is about these alone. */
  keptBytes(): number;
  /** After the last process has ended. */
  remove(): void;
}

const mounts = '/sys/fs/cgroup';

export function memoryGroup(limitBytes: number): MemoryGroup | undefined {
  const lines = existsSync('/proc/self/cgroup') ? readFileSync('/proc/self/cgroup', 'utf8').split('\n') : [];
  const first = lines.find((line) => line.split(':')[1]?.split(',').includes('memory'));
  const own = first === undefined ? join(mounts, pathIn(lines.find((line) => line.startsWith('0::')))) : undefined;
  const folder = join(own ?? join(mounts, 'memory', pathIn(first)), `hostward-bench-${process.pid}`);
  const names =
    own === undefined
      ? { limit: 'memory.limit_in_bytes', events: 'memory.oom_control', kept: 'total_rss' }
      : { limit: 'memory.max', events: 'memory.events', kept: 'anon' };
  try {
    mkdirSync(folder);
  } catch {
    return undefined;
  }
  const remove = () => rmdirSync(folder);
  try {
    writeFileSync(join(folder, names.limit), String(limitBytes));
    if (own !== undefined && existsSync(join(folder, 'memory.swap.max')))
      writeFileSync(join(folder, 'memory.swap.max'), '0');
  } catch {
    remove();
    return undefined;
  }
  const killed = () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(folder, names.events), 'utf8'))?.[1] ?? 0);
  const kept = new RegExp(`^${names.kept} (\\d+)$`, 'm');
  const keptBytes = () => Number(kept.exec(readFileSync(join(folder, 'memory.stat'), 'utf8'))?.[1] ?? 0);
  return { procs: join(folder, 'cgroup.procs'), killed, keptBytes, remove };
}

function pathIn(line = ''): string {
  return line.split(':').slice(2).join(':');
}
