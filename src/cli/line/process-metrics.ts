// Declares the series of the process: version, CPU, memory, open files. In: a registry, and functions that read the values.
// The series have the names of Prometheus' own clients, so that common dashboards work.
import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../metrics.ts';
import type { Context, ProcessUsage } from './context.ts';

/** Exists on Linux only; elsewhere the series of open files stays empty. */
const openFilesFolder = '/proc/self/fd';

export function declareProcessMetrics(
  metrics: Metrics,
  { version, runtime, usage, files }: Pick<Context, 'version' | 'runtime' | 'usage' | 'files'>,
): void {
  const registers = [metrics];
  new Gauge({
    name: 'hostward_build_info',
    help: 'Always 1; the labels say which version runs',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version, node_version: runtime }, 1);
  const counter = (name: string, help: string, read: (now: ProcessUsage) => number) => {
    let counted = 0;
    new Counter({
      name,
      help,
      registers,
      collect() {
        const now = read(usage());
        if (now > counted) this.inc(now - counted);
        counted = Math.max(counted, now);
      },
    });
  };
  counter('process_cpu_user_seconds_total', 'User CPU time spent in seconds', (now) => now.cpuUserSeconds);
  counter('process_cpu_system_seconds_total', 'System CPU time spent in seconds', (now) => now.cpuSystemSeconds);
  counter(
    'process_cpu_seconds_total',
    'User and system CPU time spent in seconds',
    (now) => now.cpuUserSeconds + now.cpuSystemSeconds,
  );
  const gauge = (name: string, help: string, read: () => number | Promise<number | undefined>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await read();
        if (value !== undefined) this.set(value);
      },
    });
  gauge('process_resident_memory_bytes', 'Resident memory in bytes', () => usage().residentBytes);
  gauge('process_start_time_seconds', 'Start of the process, seconds since 1970', () => usage().startTimeSeconds);
  gauge('process_open_fds', 'Open file descriptors', async () => {
    const open = await files.list(openFilesFolder).catch(() => undefined);
    // Reading the folder opens one more file.
    return open && open.length - 1;
  });
}
