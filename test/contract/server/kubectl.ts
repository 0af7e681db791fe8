// Unmodified kubectl must print the same for the same commands against a real kube-apiserver and against our server.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Normaliser } from './normalise.ts';

export interface KubectlSubject {
  kubeconfigPath: string;
  stop(): Promise<void>;
}

interface Step {
  run?: string;
  start?: string;
  lines?: string;
  join?: string;
  input?: string;
  editor?: string;
  is?: number;
  count?: number;
  stays?: boolean;
  /** Runs the command again until it ends as expected: a real server learns of new roles a moment later. */
  eventually?: boolean;
  /** Number of output lines to compare; the rest is prose. */
  first?: number;
}

interface Shown {
  command: string;
  code?: number;
  stdout: string[];
  stderr: string[];
}

interface Running {
  child: ChildProcess;
  stdout: string;
  stderr: string;
  code: number | undefined;
  changed: Promise<void>;
  wake: () => void;
}

const folder = fileURLToPath(new URL('../../../fixtures/contract/', import.meta.url));
const patienceMs = 15_000;
/** kubectl takes about a tenth of a second for each. */
const attempts = 50;

export function kubectlContract(
  name: string,
  makeServer: () => Promise<KubectlSubject>,
  options: {
    kubectl: string | undefined;
    reason?: string | undefined;
    isTruth?: boolean;
    differs?: Record<string, string>;
  },
): void {
  const cases = parse(readFileSync(`${folder}kubectl.yaml`, 'utf8')) as { name: string; steps: Step[] }[];
  const goldenFile = `${folder}kubectl.golden.json`;
  const golden = existsSync(goldenFile)
    ? (JSON.parse(readFileSync(goldenFile, 'utf8')) as Record<string, Shown[]>)
    : {};
  const records = options.isTruth === true && process.env['UPDATE_GOLDEN'] === '1';
  const written: Record<string, Shown[]> = {};
  const { kubectl } = options;
  const reason = kubectl === undefined ? ` (skipped: ${options.reason})` : '';
  describe.skipIf(kubectl === undefined)(`${name}: kubectl${reason}`, () => {
    let subject: KubectlSubject | undefined;
    let home = '';
    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'hostward-kubectl-'));
      subject = await makeServer();
    });
    afterAll(async () => {
      await subject?.stop();
      rmSync(home, { recursive: true, force: true });
      if (records) writeFileSync(goldenFile, `${JSON.stringify(written, undefined, 1)}\n`);
    });
    for (const played of cases) {
      it(played.name, async ({ skip }) => {
        const known = options.differs?.[played.name];
        if (known !== undefined) return skip(known);
        const at = { kubectl: kubectl as string, kubeconfigPath: subject?.kubeconfigPath as string, home };
        const shown = await playAll(played, at, records ? undefined : (golden[played.name] ?? []));
        if (records) written[played.name] = shown;
      });
    }
  });
}

interface At {
  kubectl: string;
  kubeconfigPath: string;
  home: string;
}

async function playAll(played: { name: string; steps: Step[] }, at: At, golden: Shown[] | undefined): Promise<Shown[]> {
  const namespace = `kubectl-${createHash('sha256').update(played.name).digest('hex').slice(0, 10)}`;
  const normaliser = new Normaliser(namespace);
  const running = new Map<string, Running>();
  const all: Shown[] = [];
  const fill = (text: string): string => text.replaceAll('$ns', namespace);
  try {
    await ended(launch(at, { run: `create namespace ${namespace}` }));
    for (const step of played.steps) {
      const shown = await play(step, { at, running, fill, normaliser });
      if (shown === undefined) continue;
      if (shown.code !== undefined && shown.code !== (step.is ?? 0))
        expect.fail(`kubectl ${shown.command}: wanted exit code ${step.is ?? 0}, got ${JSON.stringify(shown)}`);
      if (golden !== undefined) expect(shown).toEqual(golden[all.length]);
      all.push(shown);
    }
    return all;
  } finally {
    for (const one of running.values()) one.child.kill('SIGKILL');
  }
}

interface Scene {
  at: At;
  running: Map<string, Running>;
  fill: (text: string) => string;
  normaliser: Normaliser;
}

async function play(step: Step, scene: Scene): Promise<Shown | undefined> {
  const { at, running, fill, normaliser } = scene;
  if (step.lines !== undefined) {
    const one = named(running, step.lines);
    await until(one, () => one.stdout.split('\n').length > (step.count ?? 0));
    if (step.stays === true) return undefined;
    one.child.kill('SIGTERM');
    return { ...shownOf(step.lines, one, { step, normaliser }), stderr: [] };
  }
  if (step.join !== undefined) {
    const one = named(running, step.join);
    await ended(one);
    return { ...shownOf(step.join, one, { step, normaliser }), code: one.code as number };
  }
  const run = fill(step.run ?? '');
  const launched = { ...step, run, ...(step.input === undefined ? {} : { input: fill(step.input) }) };
  let one = launch(at, launched);
  if (step.start !== undefined) {
    running.set(step.start, one);
    return undefined;
  }
  await ended(one);
  for (let tried = 1; step.eventually === true && one.code !== (step.is ?? 0) && tried < attempts; tried++) {
    one = launch(at, launched);
    await ended(one);
  }
  return { ...shownOf(step.run as string, one, { step, normaliser }), code: one.code as number };
}

function named(running: Map<string, Running>, name: string): Running {
  const one = running.get(name);
  if (one === undefined) throw new Error(`no kubectl was started as "${name}"`);
  return one;
}

function launch(at: At, step: Step): Running {
  const child = spawn(at.kubectl, (step.run as string).split(' '), {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      KUBECONFIG: at.kubeconfigPath,
      HOME: at.home,
      ...(step.editor === undefined ? {} : { KUBE_EDITOR: step.editor }),
    },
  });
  let wake = (): void => {};
  const one: Running = {
    child,
    stdout: '',
    stderr: '',
    code: undefined,
    changed: Promise.resolve(),
    wake: () => wake(),
  };
  const arm = (): void => {
    const before = wake;
    one.changed = new Promise((resolve) => {
      wake = resolve;
    });
    before();
  };
  arm();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    one.stdout += text;
    arm();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    one.stderr += text;
    arm();
  });
  child.stdin.on('error', () => {});
  child.stdin.end(step.input ?? '');
  child.once('close', (code) => {
    one.code = code ?? 1;
    arm();
  });
  return one;
}

async function ended(one: Running): Promise<void> {
  await until(one, () => one.code !== undefined);
}

async function until(one: Running, holds: () => boolean): Promise<void> {
  const deadline = AbortSignal.timeout(patienceMs);
  const late = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve(), { once: true }));
  while (!holds()) {
    if (deadline.aborted)
      throw new Error(`kubectl ${one.child.spawnargs.slice(1).join(' ')} took too long: ${one.stdout}${one.stderr}`);
    await Promise.race([one.changed, late]);
  }
}

function shownOf(command: string, one: Running, { step, normaliser }: { step: Step; normaliser: Normaliser }): Shown {
  const stdout = linesOf(one.stdout, normaliser);
  return {
    command,
    stdout: step.first === undefined ? stdout : stdout.slice(0, step.first),
    stderr: linesOf(one.stderr, normaliser),
  };
}

/** Removes column widths, which depend on contents, and ages, which change. */
function linesOf(text: string, normaliser: Normaliser): string[] {
  const json = /^\s*\{[\s\S]*\}\s*$/.test(text) ? safely(text) : undefined;
  if (json !== undefined) return [JSON.stringify(normaliser.normalise(json, { managedFields: false }))];
  return normaliser
    .text(text)
    .replace(/resourceVersion: "\d+"/g, 'resourceVersion: "<rv>"')
    .split('\n')
    .map((line) => line.replace(/\b\d+(s|m|ms)\b(?=\s|$)/g, '<age>').replace(/(?<=\S) {2,}/g, '  '))
    .map((line) => line.replace(/https:\/\/127\.0\.0\.1:\d+/g, '<server>').trimEnd())
    .filter((line) => line !== '');
}

function safely(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
