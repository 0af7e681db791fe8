import type { Context, SignalKind } from '../../src/cli/line/context.ts';
import { closedFile } from '../../src/config/load/read-files.ts';
import type { DaemonModule } from '../../src/daemon/options/daemon-options.ts';
import { VirtualClock } from '../virtual-clock.ts';

/** A simulated process: files in a map, output in strings, signals sent by the test. */
export interface Scene {
  context: Context;
  clock: VirtualClock;
  files: Map<string, { text: string; mode: number }>;
  out(): string;
  err(): string;
  send(kind: SignalKind): void;
}

export interface SceneOptions {
  /** By absolute path; a path that ends in a slash is a folder. */
  files?: Record<string, string>;
  stdin?: string;
  environment?: Record<string, string>;
  columns?: number;
  /** Bytes of the volume of each folder that is on this machine. */
  volumes?: Record<string, number>;
  /** Why a folder can neither be used nor made. */
  folderProblems?: Record<string, string>;
  /** Files that this process may not read. */
  closed?: readonly string[];
  daemonModule?: Partial<DaemonModule>;
}

export function scene(options: SceneOptions = {}): Scene {
  const files = new Map(Object.entries(options.files ?? {}).map(([path, text]) => [path, { text, mode: 0o644 }]));
  const written = { out: '', err: '' };
  const listeners = new Set<{ kind: SignalKind; run: () => void }>();
  const clock = new VirtualClock();
  const sink = (name: 'out' | 'err') => ({
    write: (text: string) => {
      written[name] += text;
    },
    control: (text: string) => {
      written[name] += text;
    },
    isTerminal: options.columns !== undefined,
    columns: options.columns,
    rows: options.columns === undefined ? undefined : 24,
  });
  const context: Context = {
    stdout: sink('out'),
    stderr: sink('err'),
    readStdin: async () => options.stdin ?? '',
    async *stdinChunks() {
      yield options.stdin ?? '';
    },
    environment: options.environment ?? {},
    cwd: '/home',
    files: {
      async read(path) {
        const file = files.get(path);
        if (files.has(`${path}/`)) throw systemError('EISDIR', path);
        if (file === undefined) throw systemError('ENOENT', path);
        return file.text;
      },
      async readConfiguration(name) {
        const path = name.startsWith('/') ? name : `/home/${name}`;
        if (files.has(`${path}/`)) return { name, problem: 'directory' };
        if (options.closed?.includes(path)) return { name, problem: 'unreadable', reason: closedFile };
        const file = files.get(path);
        return file === undefined ? { name, problem: 'missing' } : { name, text: file.text };
      },
      async write(path, text, { mode = 0o644 } = {}) {
        files.set(path, { text, mode });
      },
      async create(path, text, { mode = 0o644 } = {}) {
        if (files.has(path)) return false;
        files.set(path, { text, mode });
        return true;
      },
      async makeFolder() {},
      async list(folder) {
        const inside = [...files.keys()].filter((path) => path.startsWith(`${folder}/`));
        const names = inside.map((path) => path.slice(folder.length + 1).replace(/\/.*/, '/'));
        if (names.length === 0) throw systemError('ENOENT', folder);
        return [...new Set(names)].sort();
      },
      volumeBytes: async (folder) => options.volumes?.[folder],
      folderProblem: async (folder) => options.folderProblems?.[folder],
      modeOf: async (path) => files.get(path)?.mode,
      async remove(path) {
        files.delete(path);
      },
      async removeEmptyFolder() {},
      async removeFolder(folder) {
        for (const path of files.keys()) if (path.startsWith(`${folder}/`)) files.delete(path);
      },
    },
    clock,
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    fetch: (url, options) => fetch(url, options),
    random: () => 0.5,
    onSignal(kind, run) {
      const listener = { kind, run };
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onEnd: () => () => {},
    afterLostOutput: {},
    faultListeners: new Set(),
    openFile: async () => false,
    usage: () => ({ cpuUserSeconds: 1.5, cpuSystemSeconds: 0.5, residentBytes: 1024, startTimeSeconds: 1000 }),
    version: '1.2.3',
    runtime: 'v26.0.0',
    packageFolder: '/opt/hostward',
    nodePath: process.execPath,
    osUser: 'operator',
    loadDaemon: async () => (options.daemonModule ?? {}) as DaemonModule,
  };
  return {
    context,
    clock,
    files,
    out: () => written.out,
    err: () => written.err,
    send: (kind) => {
      const told = (one: SignalKind) => one === kind || (one === 'leave' && kind === 'stop');
      for (const listener of [...listeners]) if (told(listener.kind)) listener.run();
    },
  };
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: open '${path}'`), { code, syscall: 'open', path });
}
