// A copy of the house in which a fault is planted, and the suites that run there.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutant } from './mutant.ts';

export type Verdict =
  | { kind: 'passed' }
  /** Without a suite: nothing could run. */
  | { kind: 'failed'; by: string; suite?: string | undefined }
  /** Something took longer than it may, which a busy machine does to a sound house too: no assertion has seen the fault. */
  | { kind: 'late'; by: string };

const parts = [
  'src',
  'test',
  'fixtures',
  'config',
  'docs',
  'bench',
  '.ci',
  'package.json',
  'tsconfig.json',
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'LICENSE',
  'Dockerfile',
  '.gitignore',
  '.biome.json',
];

/** Beyond this a suite hangs because of the fault, also on a busy machine. */
export const hangsMs = 150_000;
/** Of one test. A third of what suites have elsewhere, because a fault that makes one wait would cost a minute. */
const longestTestMs = 20_000;

/** In place of a suite that was late, when all of them were. */
export const neverEnds = 'its suites do not end';

export class HouseCopy {
  readonly folder = mkdtempSync(join(tmpdir(), 'hostward-mutants-'));
  #workers: number;

  constructor(root: string, { workers }: { workers: number }) {
    this.#workers = workers;
    for (const part of parts)
      if (existsSync(join(root, part))) cpSync(join(root, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  /** A chosen fault finds its place by the text of the line, which may have changed since. */
  canPlant({ file, plant }: Mutant): boolean {
    try {
      return this.has(file) && plant(readFileSync(join(this.folder, file), 'utf8')) !== '';
    } catch {
      return false;
    }
  }

  /** With the fault in place only as long as the work lasts. */
  async with<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const path = join(this.folder, mutant.file);
    const good = readFileSync(path, 'utf8');
    const bad = mutant.plant(good);
    if (bad === good) throw new Error(`plant "${mutant.name}": it changes nothing`);
    writeFileSync(path, bad);
    try {
      return await work();
    } finally {
      writeFileSync(path, good);
    }
  }

  /** Counts only what happens twice: on a busy machine a sound house fails too, and tests of speed before all others. */
  async meets(suites: readonly string[], limitMs: number): Promise<Verdict> {
    const first = await this.#run(suites, limitMs);
    if (first.kind === 'passed') return first;
    if (first.kind === 'late' && first.suite === undefined) return first;
    const { suite } = first;
    if (first.kind === 'failed') {
      const again = await this.#run(suite === undefined ? suites : [suite], hangsMs);
      if (again.kind === 'failed') return first;
      if (again.kind === 'late') return this.#others(suites, suite, limitMs, again);
    }
    return this.#others(suites, suite, limitMs, first.kind === 'late' ? first : { kind: 'passed' });
  }

  /** The first failure ended the run, so the others have not been asked. They may see the fault by an assertion. */
  async #others(
    suites: readonly string[],
    suite: string | undefined,
    limitMs: number,
    unless: Verdict,
  ): Promise<Verdict> {
    const others = suite === undefined ? [] : suites.filter((one) => one !== suite);
    const verdict = await this.meets(others, limitMs);
    return verdict.kind === 'passed' ? unless : verdict;
  }

  #run(suites: readonly string[], limitMs: number): Promise<Seen> {
    if (suites.length === 0) return Promise.resolve({ kind: 'passed' });
    const vitest = join('node_modules', 'vitest', 'vitest.mjs');
    const report = join(this.folder, 'report.json');
    rmSync(report, { force: true });
    const words = [
      vitest,
      'run',
      '--config',
      'test/vitest.config.ts',
      '--bail',
      '1',
      '--retry',
      '0',
      '--testTimeout',
      String(longestTestMs),
      '--hookTimeout',
      String(longestTestMs),
      '--maxWorkers',
      String(this.#workers),
      '--reporter',
      'json',
      '--outputFile',
      report,
      ...suites,
    ];
    // The files that were asked for and no others: a word of vitest is a part of a name.
    const child = spawn(process.execPath, words, {
      cwd: this.folder,
      // A suite that fails here is a fault that was noticed, and nothing that CI may count as a failure.
      env: {
        ...process.env,
        ...{ CI: '', HOSTWARD_TEST_REPORT: undefined, KUBEBUILDER_ASSETS: '', NO_COLOR: '1' },
        // Goes with the copy: another one is somewhere else, and Node keeps things by their path.
        NODE_COMPILE_CACHE: join(this.folder, 'compiled'),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      // Its workers too: a fault may keep one busy for ever.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, limitMs);
    return new Promise((resolve) => {
      child.once('close', (code) => {
        clearTimeout(timer);
        if (isLate) resolve({ kind: 'late', by: neverEnds });
        else if (code === 0) resolve({ kind: 'passed' });
        else resolve(firstFailure(readReport(report)) ?? { kind: 'failed', by: lastLine(stderr) });
      });
    });
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

type Seen = { kind: 'passed' } | { kind: 'failed' | 'late'; by: string; suite?: string | undefined };

interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message?: string;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] | null }[];
  }[];
}

function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as VitestReport;
  } catch {
    return undefined;
  }
}

/** What was noticed first, and whether it was more than that time was over. */
export function firstFailure(report: VitestReport | undefined): Exclude<Seen, { kind: 'passed' }> | undefined {
  const file = report?.testResults.find(({ status }) => status === 'failed');
  if (file === undefined) return undefined;
  const test = file.assertionResults.find(({ status }) => status === 'failed');
  const suite = file.name.slice(file.name.lastIndexOf('/test/') + 1);
  const messages = test === undefined ? [file.message ?? ''] : (test.failureMessages ?? []);
  const isLate = messages.length > 0 && messages.every((text) => /(Test|Hook) timed out in \d+ ?ms/.test(text));
  return { kind: isLate ? 'late' : 'failed', suite, by: `${suite}: ${test?.fullName ?? 'does not load'}` };
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 200) ?? 'it ended';
}
