// What .ci/steps promises to .ci/run, with steps that wait for each other instead of for the time.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from './management/server/bench.ts';

const root = join(import.meta.dirname, '..');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-steps-'));
  mkdirSync(join(folder, 'work'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function start(script: string) {
  const child = spawn('bash', ['-c', `source .ci/steps\n${script}`], {
    cwd: root,
    env: { PATH: process.env['PATH'], TMPDIR: join(folder, 'work'), at: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const ended = new Promise<{ code: number | null; lines: string[] }>((resolve) =>
    child.once('close', (code) => resolve({ code, lines: said.trimEnd().split('\n') })),
  );
  return { child, ended };
}

const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

describe('.ci/steps', () => {
  it('counts what holds and what does not, tells why at the end, and leaves nothing behind', async () => {
    const { code, lines } = await start(`
      step 'good' 1m true
      step 'bad' 1m bash -c 'echo because; exit 4'
      finish`).ended;
    expect(code).toBe(1);
    expect(lines.at(-1)).toBe('1 passed, 1 failed');
    const told = lines.slice(lines.indexOf('failed: bad (status 4)'));
    expect(told[1]).toBe('because');
    expect(readdirSync(join(folder, 'work'))).toEqual([]);
  });

  it('names the tests that every step has skipped, but for those that a step of its own runs', async () => {
    let skippedName = 'a test';
    const report = (file: string, ...statuses: string[]) =>
      JSON.stringify({
        numPassedTests: 1,
        numFailedTests: 0,
        testResults: [
          {
            name: join(root, file),
            assertionResults: statuses.map((status) => ({
              status,
              fullName: status === 'skipped' ? skippedName : file,
            })),
          },
        ],
      });
    const leaves = (text: string) => `bash -c 'cat >"$HOSTWARD_TEST_REPORT" <<<"$1"' _ '${text}'`;
    const [all, more, others] = [
      leaves(report('test/a.test.ts', 'skipped', 'passed')),
      leaves(report('test/b.test.ts', 'skipped', 'skipped')),
      leaves(report('test/a.test.ts', 'passed', 'passed')),
    ];
    skippedName = 'a test (at length)';
    const { code, lines } = await start(`
      step 'all' 1m ${all}
      step 'more' 1m ${more}
      step 'others' 1m ${others}
      step 'short' 1m ${leaves(report('test/c.test.ts', 'skipped', 'passed'))}
      finish`).ended;
    expect([code, lines.at(-1)]).toEqual([0, '4 passed, 0 failed']);
    expect(lines.filter((line) => line.startsWith('run by no step'))).toEqual([
      'run by no step: 2 tests of test/b.test.ts',
    ]);
  });

  it('runs two functions side by side, prints each in one piece, and adds their numbers up', async () => {
    // Each waits for a line of the other one; the third has nobody to wait for.
    const { code, lines } = await start(`
      mkfifo "$at/one" "$at/two"
      first() { step 'first' 1m bash -c 'echo begun >"$at/one"; read -r _ <"$at/two"; echo first-said'; step 'first, again' 1m true; }
      second() { step 'second' 1m bash -c 'read -r _ <"$at/one"; echo second-said; echo begun >"$at/two"'; }
      third() { step 'third' 1m false; }
      beside first second third
      finish`).ended;
    expect([code, lines.at(-1)]).toEqual([1, '3 passed, 1 failed']);
    expect(lines).toContain('failed: third (status 1)');
    for (const [name, said] of [
      ['first', 'first-said'],
      ['second', 'second-said'],
    ] as const) {
      const at = lines.indexOf(`=== ${name}`);
      expect(lines.slice(at + 1, at + 3)).toEqual([said, expect.stringMatching(`^=== ${name}: status 0`)]);
    }
    expect(lines[lines.findIndex((line) => line.startsWith('=== first: status')) + 2]).toBe('=== first, again');
  });

  it('counts a function that does not come to its end as a failure', async () => {
    const { code, lines } = await start(`
      lost() { step 'before' 1m true; exit 0; }
      beside lost
      finish`).ended;
    expect([code, lines.at(-1)]).toEqual([1, '0 passed, 1 failed']);
    expect(lines).toContain('failed: the steps of lost did not come to their end');
  });

  it.each([
    ['a step', 'step running 1m bash -c "$run"', 'SIGINT', 130],
    [
      'steps side by side',
      'one() { step running 1m bash -c "$run"; }; two() { step other 1m sleep 600; }; beside one two',
      'SIGINT',
      130,
    ],
    ['a step, for somebody who ends the run', 'step running 1m bash -c "$run"', 'SIGTERM', 143],
  ] as const)('ends %s with all that was started, and leaves nothing behind', async (_, script, signal, wanted) => {
    const { child, ended } = start(
      `run='sleep 600 & echo $! $$ >"$at/pids.new"; mv "$at/pids.new" "$at/pids"; wait'\nexport at run\n${script}\nfinish`,
    );
    await until(() => existsSync(join(folder, 'pids')), 'a program that runs', 20_000);
    const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split(' ').map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    child.kill(signal);
    const { code, lines } = await ended;
    expect(code).toBe(wanted);
    expect(lines.join()).not.toContain('passed');
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(readdirSync(join(folder, 'work'))).toEqual([]);
  });
});
