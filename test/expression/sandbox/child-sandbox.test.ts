import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { CompiledExpression } from '../../../src/expression/language/compile.ts';
import type { SandboxSetup } from '../../../src/expression/realm/harness.ts';
import { harnessSource } from '../../../src/expression/realm/harness.ts';
import { ChildSandbox, type StartReason } from '../../../src/expression/sandbox/child-sandbox.ts';
import { residentMbOf } from '../../../src/expression/sandbox/launch.ts';
import type { SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { silentLog } from '../../../src/log.ts';
import { children, compiled, evaluateOne, openChild, startEvaluator } from '../evaluator-fixture.ts';

const setup: SandboxSetup = {
  harness: harnessSource(),
  expressions: ['"a" + value', 'context.vcluster.name', '(() => { for (;;); })()'].map(
    (source) => compiled(source).code,
  ),
  functions: [],
  vcluster: '{"name":"n"}',
  memoryLimitMb: 32,
  timeoutMs: 100,
  callsPerIsolate: 1_000,
};

const request = (expression: number, value: unknown = 'v') => JSON.stringify([null, null, expression, [value]]);
const answer = (text: string) => ({ kind: 'answer', text: JSON.stringify([[text]]) });

async function openSandbox(options: Partial<ConstructorParameters<typeof ChildSandbox>[0]> = {}) {
  const sandbox = new ChildSandbox({
    setup,
    clock: systemClock,
    log: silentLog,
    nodePath: process.execPath,
    ...options,
  });
  return { sandbox, [Symbol.asyncDispose]: () => sandbox.stop() };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Echoes a request, or calls a builtin that V8 cannot interrupt, so that only the watchdog can end the process. */
const hanging = {
  ...setup,
  expressions: [],
  harness: `({ offer() {}, begin() {}, take() {},
    run: ([text]) => [text === 'hang' ? String([].indexOf.call({ length: 2 ** 53 - 1 }, 1)) : text] })`,
};

describe('ChildSandbox', () => {
  it('answers, in a process with one environment variable, no compiler and no rights', async () => {
    await using opened = await openSandbox();
    const { sandbox } = opened;
    await sandbox.start();
    expect(await sandbox.run(request(0))).toEqual(answer('av'));
    expect(await sandbox.run(request(1))).toEqual(answer('n'));
    const environment = readFileSync(`/proc/${sandbox.pid}/environ`, 'utf8');
    const flags = readFileSync(`/proc/${sandbox.pid}/cmdline`, 'utf8').split('\0');
    expect(environment).toBe('MALLOC_ARENA_MAX=1\0');
    for (const flag of ['--jitless', '--permission', '--disallow-code-generation-from-strings'])
      expect(flags).toContain(flag);
    expect(flags.filter((flag) => /^--allow-(fs-write|child|worker|wasi|net)/.test(flag))).toEqual([]);
  });

  it('answers `unavailable` before its start, and to a request that stop() interrupts', async () => {
    await using opened = await openSandbox();
    expect(await opened.sandbox.run(request(0))).toMatchObject({ kind: 'unavailable' });
    await opened.sandbox.start();
    const pending = opened.sandbox.run(request(2));
    await opened.sandbox.stop();
    expect(await pending).toMatchObject({ kind: 'unavailable' });
    expect(opened.sandbox.pid).toBeUndefined();
  });

  it('rejects its start when Node is missing, and names the missing path', async () => {
    await using opened = await openSandbox({ nodePath: '/nonexistent/node' });
    await expect(opened.sandbox.start()).rejects.toThrow(/nonexistent/);
  });

  it('can be stopped at any moment of its start: start() rejects, and no process stays', async () => {
    for (const turnsUntilStop of [0, 1, 5, 50]) {
      await using opened = await openSandbox();
      const started = opened.sandbox.start().then(
        () => 'started',
        (fault: Error) => fault.message,
      );
      for (let turn = 0; turn < turnsUntilStop; turn++) await new Promise((resolve) => setImmediate(resolve));
      const pid = opened.sandbox.pid;
      await opened.sandbox.stop();
      expect(await started).toMatch(/was stopped before it was ready/);
      expect(opened.sandbox.pid).toBeUndefined();
      expect(pid === undefined || residentMbOf(pid) === undefined).toBe(true);
    }
  });

  it('answers further requests after a time-out', async () => {
    await using opened = await openSandbox();
    await opened.sandbox.start();
    const all = [0, 2, 0].map((expression) => opened.sandbox.run(request(expression)));
    expect(await Promise.all(all)).toEqual([answer('av'), { kind: 'timeout' }, answer('av')]);
  });

  it('answers requests that arrived together as if each came alone', async () => {
    await using opened = await openSandbox();
    await opened.sandbox.start();
    const numbers = Array.from({ length: 16 }, (_, at) => at);
    const all = numbers.map((at) => opened.sandbox.run(request(at % 2 === 0 ? 2 : 0, `v${at}`)));
    const wanted = numbers.map((at) => (at % 2 === 0 ? { kind: 'timeout' } : answer(`av${at}`)));
    expect(await Promise.all(all)).toEqual(wanted);
  });

  it('kills a process that hangs, fails the hanging request, and answers all others', {
    timeout: 30_000,
  }, async () => {
    const reasons: StartReason[] = [];
    await using opened = await openSandbox({ setup: hanging, onStart: (reason) => reasons.push(reason) });
    await opened.sandbox.start();
    const all = ['a', 'hang', 'b', 'c'].map((text) => opened.sandbox.run(text));
    const echo = (text: string) => ({ kind: 'answer', text });
    const [first, hung, ...others] = await Promise.all(all);
    expect([first, ...others]).toEqual([echo('a'), echo('b'), echo('c')]);
    // isolated-vm may abort the process before the watchdog kills it.
    expect(hung?.kind).toMatch(/timeout|crash/);
    expect(reasons.filter((reason) => reason !== 'first').length).toBeGreaterThan(0);
  });

  it('answers every request correctly although the process is killed again and again (at length)', {
    timeout: 60_000,
  }, async () => {
    await using opened = await openSandbox();
    const { sandbox } = opened;
    await sandbox.start();
    let answered = 0;
    let kills = 0;
    const killing = (async () => {
      for (const at of [100, 400, 900, 1_500, 2_200, 3_000]) {
        await until(() => answered >= at && sandbox.pid !== undefined);
        process.kill(sandbox.pid as number, 'SIGKILL');
        kills++;
      }
    })();
    const total = 4_000;
    let next = 0;
    const caller = async () => {
      while (next < total) {
        const mine = next++;
        expect(await sandbox.run(request(0, `v${mine}`))).toEqual(answer(`av${mine}`));
        answered++;
      }
    };
    await Promise.all(Array.from({ length: 40 }, caller));
    await killing;
    expect([answered, kills]).toEqual([total, 6]);
  });

  it('is started again after its death', async () => {
    await using opened = await openSandbox();
    await opened.sandbox.start();
    await opened.sandbox.run(request(0));
    process.kill(opened.sandbox.pid as number, 'SIGKILL');
    expect(await opened.sandbox.run(request(0))).toEqual(answer('av'));
  });

  it('needs less than 90 MB', async () => {
    await using opened = await openSandbox();
    await opened.sandbox.start();
    for (let at = 0; at < 2_000; at++) await opened.sandbox.run(request(0, `v${at}`));
    expect(residentMbOf(opened.sandbox.pid as number)).toBeLessThan(90);
  });

  it('frees the texts of answered requests', async () => {
    await using opened = await openSandbox();
    await opened.sandbox.start();
    const large = 'v'.repeat(100_000);
    const read = async (requests: number) => {
      for (let at = 0; at < requests; at++)
        expect(await opened.sandbox.run(request(1, `${at}${large}`))).toEqual(answer('n'));
    };
    await read(10);
    const before = residentMbOf(opened.sandbox.pid as number) as number;
    await read(300);
    expect((residentMbOf(opened.sandbox.pid as number) as number) - before).toBeLessThan(15);
  });

  it('stays within its memory with the largest number of the largest objects in flight (at length)', {
    timeout: 60_000,
  }, async () => {
    await using opened = await openSandbox({ setup: { ...setup, expressions: ['value.slice(1)'], timeoutMs: 5_000 } });
    await opened.sandbox.start();
    // The largest object that etcd stores.
    const values = Array.from({ length: 6 }, (_, at) => String.fromCodePoint(97 + at).repeat(262_000));
    const text = JSON.stringify([null, null, 0, values]);
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => opened.sandbox.run(text)));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['answer']));
    const peakMb = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${opened.sandbox.pid}/status`, 'utf8'))?.[1];
    expect(Number(peakMb) / 1_024).toBeLessThan(200);
  });

  it('survives within its memory when short requests have the longest answers (at length)', {
    timeout: 60_000,
  }, async () => {
    const reasons: StartReason[] = [];
    const expressions = ['value.repeat(262144)', '"a" + value'].map((source) => compiled(source).code);
    await using opened = await openSandbox({
      setup: { ...setup, expressions, timeoutMs: 5_000 },
      onStart: (reason) => reasons.push(reason),
    });
    await opened.sandbox.start();
    // A character that takes two bytes in memory and three in a frame.
    const long = JSON.stringify([null, null, 0, Array.from({ length: 12 }, () => '日')]);
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, at) => opened.sandbox.run(at % 4 === 3 ? request(1) : long)),
    );
    const lengthOf = (outcome: SandboxOutcome) => (outcome.kind === 'answer' ? outcome.text.length : outcome.kind);
    const isLong = (at: number) => at % 4 !== 3;
    expect(outcomes.filter((_, at) => !isLong(at)).map(lengthOf)).toEqual(Array(4).fill(8));
    // The lengths include the quotes, the commas and the brackets. No object can hold such an answer, so it may fail for its memory.
    const seen = new Set(outcomes.filter((_, at) => isLong(at)).map(lengthOf));
    expect([...seen].filter((one) => one !== 'memory')).toEqual([12 * 262_147 + 3]);
    // The watchdog may kill a process that is slow or large, but no process may run out of memory by itself.
    expect(reasons).not.toContain('died');
  });

  it('gives the same answers in both processes, and leaves neither behind', async () => {
    const sources = [
      'value + "!"',
      '({ ...value, b: [value, null] })',
      'null.x',
      'undefined',
      'new RegExp(value).test("a")',
    ];
    const expressions = sources.map((source) => compiled(source).code);
    const opened = await openSandbox({ setup: { ...setup, expressions } });
    const { sandbox } = opened;
    await sandbox.start();
    const values = ['', 'ä日', '(', 'x'.repeat(20_000), 1.5, true, null, { a: { b: ['c'] } }];
    const texts = sources.flatMap((_, at) => values.map((value) => request(at, value)));
    const quick = await Promise.all(texts.map((text) => sandbox.run(text)));
    const slow = await Promise.all(texts.map((text) => sandbox.run(text, { alone: true })));
    expect(slow).toEqual(quick);
    const { pids } = sandbox;
    expect(pids).toHaveLength(2);
    await sandbox.stop();
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  });
});

function hasStrace(): boolean {
  try {
    execFileSync('strace', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * When a thread first has to queue for one of V8's locks (absl::Mutex, in Enqueue and LockSlow), the lock reads the number of
 * processors and their clock rate, each once in the life of a process. The warm-up provokes both reads, but threads meet by
 * chance. So each of exactly these files may still be opened once later, for reading.
 */
const filesOfLock = ['/sys/devices/system/cpu/online', '/sys/devices/system/cpu/cpu0/tsc_freq_khz'];

function isReadByLock(line: string, earlier: readonly string[]): boolean {
  const path = filesOfLock.find((one) => line.includes(`openat(AT_FDCWD, "${one}", O_RDONLY|O_CLOEXEC`));
  return path !== undefined && !earlier.some((other) => other.includes(path));
}

describe('the system calls of the sandbox', () => {
  it.skipIf(!hasStrace())(
    'open no file and make no socket after its start (needs strace)',
    { timeout: 60_000 },
    async ({ skip }) => {
      const sources = [
        '"a" + value',
        'new Date("2026-01-01").toString()',
        '"ä".normalize("NFD").toUpperCase()',
        '/\\p{L}/u.test(value)',
        '(() => { for (;;); })()',
        '(() => { const a = []; for (;;) a[a.length % 1e5] = [..."x".repeat(1e5)] })()',
        'encodeURIComponent(value)',
        'null.x',
      ];
      const expressions = sources.map(compiled);
      const evaluator = await startEvaluator({ expressions, openSandbox: (made) => openChild(made), softMs: 100 });
      const folder = mkdtempSync(join(tmpdir(), 'hostward-trace-'));
      const file = join(folder, 'trace');
      const calls =
        'open,openat,openat2,creat,socket,socketpair,connect,bind,accept4,execve,clone,clone3,fork,vfork,unlink,mkdir,readlink,stat,statx';
      const strace = spawn('strace', ['-f', '-e', `trace=${calls}`, '-o', file, '-p', `${children[0]?.pid}`], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      try {
        const [said] = await once(strace.stderr, 'data');
        if (!/attached/.test(String(said))) skip(`tracing is not possible here: ${said}`);
        for (const expression of expressions as CompiledExpression[])
          await evaluateOne(evaluator, expression, { value: 'v' });
        strace.kill('SIGINT');
        await once(strace, 'exit');
        const lines = readFileSync(file, 'utf8').split('\n');
        // isolated-vm makes threads for its isolates; a thread is no new process and gains no rights.
        const isThread = (line: string) => /clone3?\(.*CLONE_THREAD/.test(line);
        const calledAfter = lines.filter((line) => /^\d+ +\w+\(/.test(line) && !isThread(line));
        const made = calledAfter.filter((line, at) => !isReadByLock(line, calledAfter.slice(0, at)));
        expect(made).toEqual([]);
      } finally {
        strace.kill('SIGKILL');
        rmSync(folder, { recursive: true });
      }
    },
  );
});
