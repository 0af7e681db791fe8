// Child processes that cannot outlive the test. A shell guard starts the program and reads a pipe that only the test holds.
// When the pipe closes, through stop() or through any death of the test process, the guard kills the program and removes its
// folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

const guardScript = `
exec 3<&0
"$@" 3<&- </dev/null & child=$!
{ cat <&3 >/dev/null; kill -KILL $child 2>/dev/null; [ -z "$GUARD_REMOVES" ] || rm -rf "$GUARD_REMOVES"; } >/dev/null 2>&1 &
exec 3<&-
wait $child
`;

/** How often programs in Go collect garbage, when a run has more memory than time. */
function collection(): { GOGC?: string } {
  const { GOGC } = process.env;
  return GOGC === undefined ? {} : { GOGC };
}

/** Length of the log excerpt that is shown when a program has died. */
const tailLength = 2_000;

export interface GuardedProcess {
  /** Resolves with the last log lines when the program has ended. */
  readonly ended: Promise<string>;
  readonly running: boolean;
  logTail(): string;
  stop(): Promise<void>;
}

export function guarded(
  program: string,
  args: string[],
  options: { logFile: string; removes?: string },
): GuardedProcess {
  const log = openSync(options.logFile, 'a');
  // The guard has its own process group, so that Ctrl-C ends the test first and the guard cleans up afterwards.
  const child: ChildProcess = spawn('/bin/sh', ['-c', guardScript, 'guard', program, ...args], {
    stdio: ['pipe', log, log],
    detached: true,
    env: { PATH: process.env['PATH'] ?? '', GUARD_REMOVES: options.removes ?? '', ...collection() },
  });
  closeSync(log);
  let running = true;
  const logTail = (): string => {
    try {
      return readFileSync(options.logFile, 'utf8').slice(-tailLength);
    } catch {
      return '';
    }
  };
  child.stdin?.on('error', () => {});
  const ended = new Promise<string>((resolve) => {
    const finish = (): void => {
      running = false;
      child.stdin?.destroy();
      resolve(logTail());
    };
    child.once('error', finish);
    child.once('exit', finish);
  });
  return {
    ended,
    get running() {
      return running;
    },
    logTail,
    async stop() {
      child.stdin?.end();
      await ended;
    },
  };
}
