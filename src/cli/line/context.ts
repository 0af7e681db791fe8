// The context that the front door passes to every command: streams, environment, files, time, signals and the code of the
// daemon. Commands take nothing from the process itself, so that a test can play the process.
import type { Clock } from '../../clock.ts';
import type { ReadFile } from '../../config/load/read-files.ts';
import type { Turn } from '../../config/steps.ts';
import type { LoadDaemon } from '../../daemon/options/daemon-options.ts';
import type { OpenPatcherOptions } from '../../sync/patch/run/open-patcher.ts';

/** One of the two output streams. */
export interface Sink {
  /** Makes the text safe for a terminal, see `safeText`. */
  write(text: string): void;
  /** Writes text with control sequences; the caller must make foreign text safe first. */
  control(text: string): void;
  readonly isTerminal: boolean;
  /** Read it at every use, because a terminal can be resized. Undefined when the stream is not a terminal. */
  readonly columns: number | undefined;
  readonly rows: number | undefined;
}

export interface Files {
  read(path: string): Promise<string>;
  /** Returns a configuration file, or the reason why it cannot be read; never throws. */
  readConfiguration: ReadFile;
  /** Writes the whole file or nothing. The mode applies from the first byte, because a kubeconfig holds credentials. */
  write(path: string, text: string, options?: { mode?: number }): Promise<void>;
  /** Writes a new file; false when the path is taken. Of several processes that try at once, one gets true. */
  create(path: string, text: string, options?: { mode?: number }): Promise<boolean>;
  makeFolder(path: string, options?: { mode?: number }): Promise<void>;
  /** Names in a folder; the names of folders end in a slash. */
  list(path: string): Promise<string[]>;
  /** The size of the volume that the folder lies on; undefined when the folder is missing or cannot be seen. */
  volumeBytes(folder: string): Promise<number | undefined>;
  /** Why a folder can neither be used nor made, in words; undefined when it can. Makes nothing. */
  folderProblem(folder: string): Promise<string | undefined>;
  /** The permission bits of a file or folder; undefined when it is missing or cannot be seen, or where the system has none. */
  modeOf(path: string): Promise<number | undefined>;
  remove(path: string): Promise<void>;
  /** Leaves a folder with something in it. */
  removeEmptyFolder(path: string): Promise<void>;
  /** With everything in it. */
  removeFolder(path: string): Promise<void>;
}

/** `stop`: SIGTERM or SIGINT. `leave`: these, and SIGHUP of a closed terminal. `reload`: SIGHUP. `resize`: the terminal changed its size. */
export type SignalKind = 'stop' | 'leave' | 'reload' | 'resize';

export interface Context {
  stdout: Sink;
  stderr: Sink;
  /** Reads standard input to its end; later calls return the same text. */
  readStdin(): Promise<string>;
  /** Standard input as it comes. */
  stdinChunks(): AsyncIterable<string>;
  environment: Readonly<Record<string, string | undefined>>;
  cwd: string;
  files: Files;
  clock: Clock;
  /** Lets the event loop run once. */
  turn: Turn;
  /** For the daemon's local port. */
  fetch: (url: string, options: { signal: AbortSignal }) => Promise<Response>;
  /** 0 up to but not including 1. */
  random(): number;
  /** Returns a function that removes the listener. */
  onSignal(kind: SignalKind, listener: () => void): () => void;
  /** Runs `last` just before the process ends, for any reason; `last` must write synchronously. */
  onEnd(last: () => void): () => void;
  /** What to do where standard output takes nothing more, and what was written is lost. */
  readonly afterLostOutput: { advice?: string };
  /** Called with the fault that ends the command, before standard error gets the same words. */
  readonly faultListeners: Set<(said: ReportedFault) => void>;
  /** Has the desktop open an address; false where there is no desktop. */
  openFile(url: string): Promise<boolean>;
  usage(): ProcessUsage;
  version: string;
  /** The version of Node, like `v26.10.0`. */
  runtime: string;
  /** The folder of the package, with the pages in docs/. */
  packageFolder: string;
  /** Path of the running Node program, which starts the sandbox process too. */
  nodePath: string;
  /** One sandbox process for several commands; absent = each command has its own. */
  openSandbox?: OpenPatcherOptions['openSandbox'];
  /** The user of this machine, for the audit log; empty when the system knows no name. */
  osUser: string;
  loadDaemon: LoadDaemon;
}

export interface ReportedFault {
  sentence: string;
  /** One text for each fault when the sentence only counts the faults. */
  details: readonly string[];
  exitCode: ExitCode;
}

export interface ProcessUsage {
  cpuUserSeconds: number;
  cpuSystemSeconds: number;
  residentBytes: number;
  /** Seconds since 1970. */
  startTimeSeconds: number;
}

export const exitCodes = {
  fine: 0,
  /** The input is at fault: a configuration, an object, a step of the story. */
  input: 1,
  /** The command line is at fault. */
  usage: 2,
  /** The environment is at fault: a cluster, a network, a permission, a port. */
  environment: 3,
  /** Hostward itself is at fault. The number lies outside the range that users script against. */
  bug: 70,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A fault that the user can mend: printed as a sentence, never with a stack. */
export class CommandFault extends Error {
  readonly exitCode: ExitCode;
  /** The fix, as a sentence or a command line. */
  readonly hint: string | undefined;
  /** Several faults, a line for each. */
  readonly details: readonly string[];
  /** The same for people, with the lines of their files; printed before the message. */
  readonly shown: readonly string[];

  constructor(
    exitCode: ExitCode,
    message: string,
    options: { hint?: string; cause?: unknown; details?: readonly string[]; shown?: readonly string[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandFault';
    this.exitCode = exitCode;
    this.hint = options.hint;
    this.details = options.details ?? [];
    this.shown = options.shown ?? [];
  }
}
