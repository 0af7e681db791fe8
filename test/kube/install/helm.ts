// Helm, as .ci/tools builds it, and the chart in config/.
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
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

/** The release, its namespace, and that of the keys with the store in the cluster. */
export const namespace = 'vcluster-my-vcluster';
export const records = `${namespace}-records`;

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Record<string, string[]>[];
  readonly data?: Readonly<Record<string, string>>;
}

export interface Rendered {
  readonly text: string;
  readonly manifests: readonly Manifest[];
}

/** Renders the chart with values; once for the same values, because several tests look at them. */
export function renderer(
  program: string,
  where: () => { kubeconfig: string; folder: string },
): (...values: string[]) => Promise<Rendered> {
  const known = new Map<string, Promise<Rendered>>();
  const rendered = async (values: readonly string[]): Promise<Rendered> => {
    const words = ['template', 'hw', chart, '--namespace', namespace, ...set(values)];
    const { code, stdout, stderr } = await run(where(), program, ...words);
    if (code !== 0 || stderr !== '') throw new Error(`helm template ${values.join(' ')}: ${code} ${stderr}`);
    const documents = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null);
    return { text: stdout, manifests: documents.filter((one) => one !== null) };
  };
  return (...values) => {
    const key = values.join();
    const found = known.get(key) ?? rendered(values);
    known.set(key, found);
    return found;
  };
}

/** The values of the one virtual cluster in the tests, and more. */
export function set(values: readonly string[]): string[] {
  return ['sync.vcluster.name=my-vcluster', ...values].flatMap((one) => ['--set', one]);
}
