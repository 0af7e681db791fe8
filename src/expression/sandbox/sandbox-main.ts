// The front door of the sandbox process. The daemon starts the process with one pipe as file descriptor 3, one environment
// variable for the C library, no standard input, and permission to read only the files of isolated-vm.
import { Socket } from 'node:net';
import { serveSandbox } from './sandbox-process.ts';

const channelFd = 3;

// Without this, the first date in an expression would read the machine's time zone from a file.
process.env.TZ = 'UTC';

// Nobody may make this process write down what it evaluates, or end it by a signal that was meant for the daemon.
for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined);

serveSandbox({
  channel: new Socket({ fd: channelFd, readable: true, writable: true }),
  home: process.argv.at(-1) ?? '',
  cpuMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
  // Skips exit handlers, which would wait for an isolate that may never end. Node has reallyExit, but its types lack it.
  die: () => (process as NodeJS.Process & { reallyExit(code: number): never }).reallyExit(1),
});
