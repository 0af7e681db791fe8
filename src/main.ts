// The front door: argv -> command -> exit code. The only place that touches the process; it hands streams, files, time,
// signals and the assembled daemon to the commands, which could not otherwise be run by a test.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { WriteStream } from 'node:tty';
import { runCommandLine, sayFault } from './cli/command-line.ts';
import { type Context, exitCodes, type Files, type SignalKind, type Sink } from './cli/line/context.ts';
import { wantsVerbose } from './cli/line/parse-arguments.ts';
import { systemClock } from './clock.ts';
import { readConfigurationFile } from './config/load/read-files.ts';

const signalsOf: Record<SignalKind, readonly NodeJS.Signals[]> = {
  stop: ['SIGTERM', 'SIGINT'],
  reload: ['SIGHUP'],
  resize: ['SIGWINCH'],
};

const files: Files = {
  read: (path) => readFile(path, 'utf8'),
  readConfiguration: readConfigurationFile,
  async write(path, content, { mode } = {}) {
    // A neighbour first, then a rename: a reader sees the old file or the new one.
    const draft = `${path}.${randomUUID()}`;
    try {
      await writeFile(draft, content, { mode: mode ?? 0o644, flag: 'wx' });
      await rename(draft, path);
    } catch (fault) {
      await rm(draft, { force: true });
      // The message names the file that was asked for, not the draft.
      throw Object.assign(fault as Error, { path });
    }
  },
  makeFolder: async (path, { mode } = {}) => void (await mkdir(path, { recursive: true, mode: mode ?? 0o755 })),
  list: async (path) => {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  },
  remove: (path) => rm(path, { force: true }),
};

function sinkOf(stream: WriteStream): Sink {
  return {
    write: (words) => void stream.write(words),
    control: (words) => void stream.write(words),
    get isTerminal() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.columns;
    },
    get rows() {
      return stream.rows;
    },
  };
}

let isToldToStop = false;

function onSignal(kind: SignalKind, listener: () => void): () => void {
  // Node would hand the signal's name on, and a listener that resolves a promise would resolve it with that.
  const listen = () => {
    isToldToStop ||= kind === 'stop';
    listener();
  };
  // Under an old Node the launcher stays as our parent; without this, killing the launcher would leave the daemon running.
  const isAlone = kind !== 'stop' || process.channel === undefined;
  const events = isAlone ? signalsOf[kind] : [...signalsOf[kind], 'disconnect' as const];
  for (const event of events) process.on(event, listen);
  return () => {
    for (const event of events) process.off(event, listen);
  };
}

/** How long a process that was told to stop waits for a reader that does not read. */
const lastWordsMs = 500;

/** What was written to a pipe is on its way only, and process.exit would cut it off at what the pipe holds. */
async function untilWritten(): Promise<void> {
  // From here on a signal ends the process as it ends any other: nothing is left to drain.
  for (const event of signalsOf.stop) process.removeAllListeners(event);
  const written = [process.stdout, process.stderr].map(
    (stream) =>
      new Promise<void>((resolve) => (stream.writableLength > 0 ? stream.write('', () => resolve()) : resolve())),
  );
  const patience = isToldToStop ? [new Promise<void>((resolve) => setTimeout(resolve, lastWordsMs))] : [];
  await Promise.race([Promise.all(written), ...patience]);
}

function versionOfPackage(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}

const startTimeSeconds = Date.now() / 1000 - process.uptime();
const argv = process.argv.slice(2);
let stdin: Promise<string> | undefined;
const context: Context = {
  stdout: sinkOf(process.stdout),
  stderr: sinkOf(process.stderr),
  readStdin: () => {
    stdin ??= text(process.stdin);
    return stdin;
  },
  stdinChunks: () => process.stdin.setEncoding('utf8'),
  environment: process.env,
  cwd: process.cwd(),
  files,
  clock: systemClock,
  turn: () => new Promise((resolve) => setImmediate(resolve)),
  fetch: (url, options) => fetch(url, options),
  random: Math.random,
  onSignal,
  onEnd: (last) => {
    process.on('exit', last);
    return () => void process.off('exit', last);
  },
  faultListeners: new Set(),
  usage: () => {
    const { user, system } = process.cpuUsage();
    return {
      cpuUserSeconds: user / 1e6,
      cpuSystemSeconds: system / 1e6,
      residentBytes: process.memoryUsage.rss(),
      startTimeSeconds,
    };
  },
  version: versionOfPackage(),
  runtime: process.version,
  nodePath: process.execPath,
  loadRooms: async () => (await import('./daemon/daemon.ts')).rooms,
};

// A reader that has seen enough (`| head`) is no fault.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  process.exit(fault.code === 'EPIPE' ? exitCodes.fine : exitCodes.environment);
});
// What is said beside the result may go unread; the exit code is the command's all the same.
process.stderr.on('error', () => undefined);
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (thrown: unknown) => {
    process.exit(sayFault(context, thrown, wantsVerbose(argv, context.environment)));
  });
}

process.exitCode = await runCommandLine(context, argv);
await untilWritten();
// Keep-alive sockets of a finished command would hold the process for seconds.
process.exit();
