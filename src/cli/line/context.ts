// What the front door hands to every command: streams, environment, files, time, signals and the rooms that a command may
// not reach by itself. Commands take nothing from the process, so a test can be the process.
import type { Clock } from '../../clock.ts';
import type { ReadFile } from '../../config/load/read-files.ts';
import type { Turn } from '../../config/steps.ts';
import type { LoadDaemon } from '../../daemon/daemon-options.ts';

/** One of the two output streams. */
export interface Sink {
  /** For commands it makes the text safe for a terminal, see `safeText`. */
  write(text: string): void;
  /** Text with control sequences of our own; what it holds from elsewhere must have been made safe before. */
  control(text: string): void;
  readonly isTerminal: boolean;
  /** Asked at every use: a terminal can be resized. Undefined when it is none. */
  readonly columns: number | undefined;
  readonly rows: number | undefined;
}

export interface Files {
  /** UTF-8, of any length: objects to render. */
  read(path: string): Promise<string>;
  /** A configuration file, or why there is none; nothing is thrown. */
  readConfiguration: ReadFile;
  /** Written whole or not at all, with the mode from the first byte on: kubeconfigs are credentials. */
  write(path: string, text: string, options?: { mode?: number }): Promise<void>;
  makeFolder(path: string, options?: { mode?: number }): Promise<void>;
  /** Names in a folder; those of folders end in a slash. */
  list(path: string): Promise<string[]>;
  remove(path: string): Promise<void>;
}

/** `stop`: SIGTERM or SIGINT. `reload`: SIGHUP. `resize`: the terminal changed its size. */
export type SignalKind = 'stop' | 'reload' | 'resize';

export interface Context {
  stdout: Sink;
  stderr: Sink;
  /** Everything on standard input, up to its end; the same however often it is asked for. */
  readStdin(): Promise<string>;
  /** Standard input as it comes. */
  stdinChunks(): AsyncIterable<string>;
  environment: Readonly<Record<string, string | undefined>>;
  cwd: string;
  files: Files;
  clock: Clock;
  /** Gives the event loop back for one round. */
  turn: Turn;
  /** For the daemon's local port. */
  fetch: (url: string, options: { signal: AbortSignal }) => Promise<Response>;
  /** 0 up to but not including 1. */
  random(): number;
  /** The answer takes the listener away again. */
  onSignal(kind: SignalKind, listener: () => void): () => void;
  /** The very last thing before the process ends, however it does; what it writes must be written when it returns. */
  onEnd(last: () => void): () => void;
  /** Told of the fault that ends the command, in the words of standard error and before them. */
  readonly faultListeners: Set<(said: SaidFault) => void>;
  /** What this process has used up to now. */
  usage(): ProcessUsage;
  /** Of this program, from its package. */
  version: string;
  /** `v26.10.0` and the like, for --version --verbose and bug reports. */
  runtime: string;
  /** Path of the Node that runs this. */
  nodePath: string;
  loadDaemon: LoadDaemon;
}

export interface SaidFault {
  sentence: string;
  /** Each of several faults, where the sentence only counts them. */
  details: readonly string[];
  exitCode: ExitCode;
}

export interface ProcessUsage {
  cpuUserSeconds: number;
  cpuSystemSeconds: number;
  residentBytes: number;
  /** Since 1970. */
  startTimeSeconds: number;
}

export const exitCodes = {
  fine: 0,
  /** The input is at fault: a configuration, an object, a story that went differently. */
  input: 1,
  /** The command line is at fault. */
  usage: 2,
  /** The environment is at fault: a cluster, a network, a permission, a port. */
  environment: 3,
  /** We are at fault. Outside the range that users script against. */
  bug: 70,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A fault of the user's: said in a sentence, never with a stack. */
export class CommandFault extends Error {
  readonly exitCode: ExitCode;
  /** What would mend it; a sentence or a command line. */
  readonly hint: string | undefined;
  /** Each of several faults, already printed. */
  readonly details: readonly string[];

  constructor(
    exitCode: ExitCode,
    message: string,
    options: { hint?: string; cause?: unknown; details?: readonly string[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandFault';
    this.exitCode = exitCode;
    this.hint = options.hint;
    this.details = options.details ?? [];
  }
}
