// The entry point of the sandbox process. The daemon starts it with one pipe as file descriptor 3, without standard input, with
// one variable in its environment (a setting of the C library), and with the right to read the files of isolated-vm only.
import { Socket } from 'node:net';
import { serveSandbox } from './sandbox-process.ts';

const channelFd = 3;

// Without TZ the first use of a Date would read the time zone of the machine from a file.
process.env.TZ = 'UTC';

serveSandbox({
  channel: new Socket({ fd: channelFd, readable: true, writable: true }),
  home: process.argv.at(-1) ?? '',
  // Skips the exit handlers, which would wait for an isolate that may never stop. The types of Node lack reallyExit().
  die: () => (process as NodeJS.Process & { reallyExit(code: number): never }).reallyExit(1),
});
