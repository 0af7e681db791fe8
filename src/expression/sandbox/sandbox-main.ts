// The front door of the sandbox process. Started by the daemon with one pipe as file descriptor 3 and nothing else: no
// environment but one number for the C library, no standard input, no right to anything but the files of isolated-vm.
import { Socket } from 'node:net';
import { serveSandbox } from './sandbox-process.ts';

const channelFd = 3;

// Dates would otherwise read the time zone of the machine from a file, when an expression first asks for one.
process.env.TZ = 'UTC';

serveSandbox({
  channel: new Socket({ fd: channelFd, readable: true, writable: true }),
  home: process.argv.at(-1) ?? '',
  // Without exit handlers: they would wait for an isolate that may never give up. Node has it, its types do not.
  die: () => (process as NodeJS.Process & { reallyExit(code: number): never }).reallyExit(1),
});
