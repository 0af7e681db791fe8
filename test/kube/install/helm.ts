// Helm, as .ci/tools builds it, and the chart in config/.
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { kubeAssets } from '../start/assets.ts';

export const root = join(import.meta.dirname, '..', '..', '..');
export const chart = join(root, 'config', 'chart');
export const tools = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'hostward', 'tools');
export const helm = join(tools, 'helm');
/** Both major versions that people have. */
export const helms = { 'Helm 3': 'helm', 'Helm 4': 'helm4' } as const;

/** Why the suites of the chart are skipped; undefined if they run. */
export function chartSkipReason(program: (typeof helms)[keyof typeof helms] = 'helm'): string | undefined {
  const assets = kubeAssets();
  if (assets.found === undefined) return assets.reason;
  return isThere(join(tools, program)) ? undefined : `no ${program}; run .ci/tools ${program}`;
}

export function isThere(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program with this kubeconfig, and with Helm's own files below the folder. */
export function run(
  where: { kubeconfig: string; folder: string },
  program: string,
  ...words: string[]
): Promise<Ended> {
  const { kubeconfig, folder } = where;
  const env = { ...process.env, KUBECONFIG: kubeconfig, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder };
  return new Promise((resolve) => {
    execFile(program, words, { env, maxBuffer: 2 ** 24 }, (fault, stdout, stderr) =>
      resolve({ code: typeof fault?.code === 'number' ? fault.code : fault === null ? 0 : 1, stdout, stderr }),
    );
  });
}

/** The values of the one virtual cluster in the tests, and more. */
export function set(values: readonly string[]): string[] {
  return ['sync.vcluster.name=my-vcluster', ...values].flatMap((one) => ['--set', one]);
}
