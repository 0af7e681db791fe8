// A management API over TLS and the command line beside it: every test runs a command as a user would, against a real server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { systemClock } from '../../../src/clock.ts';
import { type Bench, openBench } from '../../management/server/bench.ts';
import { scene } from '../scene.ts';

export interface Said {
  code: number;
  out: string;
  err: string;
}

export interface RunOptions {
  folderProblems?: Record<string, string>;
  environment?: Record<string, string>;
  files?: Record<string, string>;
  stdin?: string;
}

export interface KeysBench extends Bench {
  /** On the machine of the server. */
  local(...argv: string[]): Promise<Said>;
  /** From elsewhere, with this key in the environment. */
  distant(accessKey: string, ...argv: string[]): Promise<Said>;
}

/** The people of `bench.ts`, as far as commands need them. */
export function configuration(folder: string): string {
  return [
    'hostward:',
    '  management:',
    '    listen: 127.0.0.1:0',
    `    dataDir: ${folder}`,
    '    users: [{name: alice, groups: [devs]}]',
    '',
  ].join('\n');
}

export async function runKeys(argv: readonly string[], options: RunOptions = {}): Promise<Said> {
  const { context, out, err } = scene(options);
  const code = await runCommandLine({ ...context, clock: systemClock }, argv);
  return { code, out: out(), err: err() };
}

/** The command works on the folder, whether somebody serves it or not. */
export function runIn(folder: string, argv: readonly string[], options: RunOptions = {}): Promise<Said> {
  const files = { '/home/h.yaml': configuration(folder), ...options.files };
  return runKeys([...argv, '--config', 'h.yaml'], { ...options, files });
}

export async function openKeysBench(): Promise<KeysBench> {
  const bench = await openBench();
  const beside = {
    local: (...argv: string[]) => runIn(bench.folder, argv),
    distant(accessKey: string, ...argv: string[]) {
      const server = ['--server', `https://localhost:${bench.api.port}`, '--certificate-authority', '/ca.crt'];
      const environment = { HOSTWARD_ACCESS_KEY: accessKey };
      return runKeys([...argv, ...server], { environment, files: { '/ca.crt': bench.api.caPem } });
    },
  };
  return Object.assign(bench, beside);
}

export function newFolder(): { folder: string; remove(): void } {
  const parent = mkdtempSync(join(tmpdir(), 'hostward-keys-'));
  return { folder: join(parent, 'data'), remove: () => rmSync(parent, { recursive: true, force: true }) };
}
