// The front door. In: the arguments of the process. Out: an exit code. Only this file touches the process: it hands streams,
// files, time and signals to the commands, so that tests can run the commands with streams and a clock of their own.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, rename, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import type { WriteStream } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { folderProblem, makeFolder } from './apiserver/tls/secret-files.ts';
import { reportFault, runCommandLine } from './cli/command-line.ts';
import { type Context, exitCodes, type Files, type SignalKind, type Sink } from './cli/line/context.ts';
import { wantsJson, wantsVerbose } from './cli/line/parse-arguments.ts';
import { readText, textOf } from './cli/line/read-text.ts';
import { systemClock } from './clock.ts';
import { readConfigurationFile } from './config/load/read-files.ts';

const signalsOf: Record<SignalKind, readonly NodeJS.Signals[]> = {
  stop: ['SIGTERM', 'SIGINT'],
  leave: ['SIGTERM', 'SIGINT', 'SIGHUP'],
  reload: ['SIGHUP'],
  resize: ['SIGWINCH'],
};

const files: Files = {
  read: (path) => readText(path),
  readConfiguration: readConfigurationFile,
  async write(path, content, { mode } = {}) {
    // A rename would replace a device such as /dev/null, for every program of the machine, or a pipe that somebody reads.
    const known = await stat(path).catch(() => undefined);
    if (known !== undefined && !known.isFile() && !known.isDirectory()) return writeFile(path, content);
    // Writes a draft next to the file and renames it, so that a reader sees either the old file or the new one.
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
  async create(path, content, { mode } = {}) {
    try {
      await writeFile(path, content, { mode: mode ?? 0o644, flag: 'wx' });
      return true;
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw fault;
    }
  },
  makeFolder: (path, { mode } = {}) => makeFolder(path, mode ?? 0o755),
  list: async (path) => {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  },
  volumeBytes: async (folder) => {
    try {
      const { blocks, bsize } = await statfs(folder);
      return blocks * bsize;
    } catch {
      return undefined;
    }
  },
  folderProblem,
  modeOf: async (path) => {
    if (process.platform === 'win32') return undefined;
    try {
      return (await stat(path)).mode & 0o777;
    } catch {
      return undefined;
    }
  },
  remove: (path) => rm(path, { force: true }),
  async removeEmptyFolder(path) {
    try {
      await rmdir(path);
    } catch (fault) {
      const { code = '' } = fault as NodeJS.ErrnoException;
      // On Windows a folder that is somebody's working folder is busy.
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'EBUSY'].includes(code)) throw fault;
    }
  },
  removeFolder: (path) => rm(path, { force: true, recursive: true }),
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

// The first would open the inspector where the launcher's flag is missing; an unheard second one would end a server.
for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined);

let isStopRequested = false;

function onSignal(kind: SignalKind, listener: () => void): () => void {
  // Drops the signal's name that Node passes: a listener that resolves a promise would resolve it with the name.
  const listen = () => {
    isStopRequested ||= isStop(kind);
    listener();
  };
  // Under an old Node the launcher stays as our parent. When the launcher is killed, the closed channel stops the daemon.
  const isAlone = !isStop(kind) || process.channel === undefined;
  const events = isAlone ? signalsOf[kind] : [...signalsOf[kind], 'disconnect' as const];
  for (const event of events) process.on(event, listen);
  return () => {
    for (const event of events) process.off(event, listen);
  };
}

const isStop = (kind: SignalKind) => kind === 'stop' || kind === 'leave';

/** How long a stopping process waits for a pipe whose reader does not read. */
const lastWriteLimitMs = 500;

/** Waits until both streams are empty, because process.exit loses the output that still waits for a pipe. */
async function untilWritten(): Promise<void> {
  // Nothing is left to drain, so from here on a signal may end the process at once.
  for (const event of signalsOf.leave) process.removeAllListeners(event);
  // A failed write is reported one turn later.
  await new Promise((resolve) => setImmediate(resolve));
  const written = [process.stdout, process.stderr].map(
    (stream) =>
      new Promise<void>((resolve) => (stream.writableLength > 0 ? stream.write('', () => resolve()) : resolve())),
  );
  const patience = isStopRequested ? [new Promise<void>((resolve) => setTimeout(resolve, lastWriteLimitMs))] : [];
  await Promise.race([Promise.all(written), ...patience]);
}

/** The program that opens what a desktop can open, where there is a desktop. */
function desktopOpener(): string | undefined {
  if (process.platform === 'darwin') return 'open';
  if (process.platform === 'win32') return 'explorer';
  return process.env.DISPLAY || process.env.WAYLAND_DISPLAY ? 'xdg-open' : undefined;
}

function openFile(url: string): Promise<boolean> {
  const program = desktopOpener();
  if (program === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const child = spawn(program, [url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

/** A container may run under a number without a name. */
function osUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.getuid === undefined ? '' : `uid-${process.getuid()}`;
  }
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
    stdin ??= textOf(process.stdin, 'standard input');
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
  afterLostOutput: {},
  faultListeners: new Set(),
  openFile,
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
  packageFolder: fileURLToPath(new URL('..', import.meta.url)),
  nodePath: process.execPath,
  osUser: osUserName(),
  loadDaemon: async () => (await import('./daemon/daemon.ts')).daemonModule,
};

let hasToldOfOutput = false;
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  // The command is ending already, and has no reader left.
  if (isStopRequested) return;
  // A reader may close the pipe early, as `| head` does; that is not a fault. A command that serves tidies up as after Ctrl-C.
  if (fault.code === 'EPIPE' && process.emit('SIGTERM')) return;
  if (fault.code === 'EPIPE') process.exit(exitCodes.fine);
  const isFull = fault.code === 'ENOSPC' || fault.code === 'EDQUOT';
  const { advice } = context.afterLostOutput;
  const why = `${isFull ? 'the disk is full' : fault.message}${advice === undefined ? '' : `; ${advice}`}`;
  if (!hasToldOfOutput) process.stderr.write(`hostward: standard output: ${why}\n`);
  hasToldOfOutput = true;
  // A daemon without a log is better than no daemon.
  if (isFull && (argv[0] === 'run' || argv[0] === 'direct')) return;
  process.exit(exitCodes.environment);
});
// A closed standard error must not change the exit code of the command.
process.stderr.on('error', () => undefined);
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (thrown: unknown) => {
    const form = { isVerbose: wantsVerbose(argv, context.environment), isJson: wantsJson(argv) };
    process.exit(reportFault(context, thrown, form));
  });
}

process.exitCode = await runCommandLine(context, argv);
await untilWritten();
// Keep-alive sockets of a finished command would hold the process for seconds.
process.exit();
