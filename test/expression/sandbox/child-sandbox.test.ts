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
import { residentMbOf } from '../../../src/expression/sandbox/resident-memory.ts';
import type { SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { silentLog } from '../../../src/log.ts';
import { children, compiled, evaluateOne, evaluator, openChild } from '../fixture.ts';

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

async function opened(options: Partial<ConstructorParameters<typeof ChildSandbox>[0]> = {}) {
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

/** Echoes, or calls a builtin that V8 cannot stop: only the watchdog ends it. */
const hanging = {
  ...setup,
  expressions: [],
  harness: `({ offer() {}, begin() {}, take() {},
    run: ([text]) => [text === 'hang' ? String([].indexOf.call({ length: 2 ** 53 - 1 }, 1)) : text] })`,
};

describe('ChildSandbox', () => {
  it('answers, and starts where there is no environment but one number, no JIT and no right', async () => {
    await using fixture = await opened();
    const { sandbox } = fixture;
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

  it('says when it is not running, and when it is stopped under way', async () => {
    await using fixture = await opened();
    expect(await fixture.sandbox.run(request(0))).toMatchObject({ kind: 'unavailable' });
    await fixture.sandbox.start();
    const pending = fixture.sandbox.run(request(2));
    await fixture.sandbox.stop();
    expect(await pending).toMatchObject({ kind: 'unavailable' });
    expect(fixture.sandbox.pid).toBeUndefined();
  });

  it('rejects its start when there is nothing to start, and says why', async () => {
    await using fixture = await opened({ nodePath: '/nonexistent/node' });
    await expect(fixture.sandbox.start()).rejects.toThrow(/nonexistent/);
  });

  it('can be stopped at any moment of its start, which then says so and leaves no process', async () => {
    for (const turnsUntilStop of [0, 1, 5, 50]) {
      await using fixture = await opened();
      const started = fixture.sandbox.start().then(
        () => 'started',
        (fault: Error) => fault.message,
      );
      for (let turn = 0; turn < turnsUntilStop; turn++) await new Promise((resolve) => setImmediate(resolve));
      const pid = fixture.sandbox.pid;
      await fixture.sandbox.stop();
      expect(await started).toMatch(/was stopped before it was up/);
      expect(fixture.sandbox.pid).toBeUndefined();
      expect(pid === undefined || residentMbOf(pid) === undefined).toBe(true);
    }
  });

  it('goes on after a time-out', async () => {
    await using fixture = await opened();
    await fixture.sandbox.start();
    const all = [0, 2, 0].map((expression) => fixture.sandbox.run(request(expression)));
    expect(await Promise.all(all)).toEqual([answer('av'), { kind: 'timeout' }, answer('av')]);
  });

  it('answers requests that came together as each by itself', async () => {
    await using fixture = await opened();
    await fixture.sandbox.start();
    const numbers = Array.from({ length: 16 }, (_, at) => at);
    const all = numbers.map((at) => fixture.sandbox.run(request(at % 2 === 0 ? 2 : 0, `v${at}`)));
    const wanted = numbers.map((at) => (at % 2 === 0 ? { kind: 'timeout' } : answer(`av${at}`)));
    expect(await Promise.all(all)).toEqual(wanted);
  });

  it('kills a process that hangs, answers everything else, and says which request it was', {
    timeout: 30_000,
  }, async () => {
    const reasons: StartReason[] = [];
    await using fixture = await opened({ setup: hanging, hardMs: 400, onStart: (reason) => reasons.push(reason) });
    await fixture.sandbox.start();
    const all = ['a', 'hang', 'b', 'c'].map((text) => fixture.sandbox.run(text));
    const echo = (text: string) => ({ kind: 'answer', text });
    const [first, hung, ...others] = await Promise.all(all);
    expect([first, ...others]).toEqual([echo('a'), echo('b'), echo('c')]);
    // isolated-vm gives up by itself after a while, and takes the process with it.
    expect(hung?.kind).toMatch(/timeout|crash/);
    expect(reasons.filter((reason) => reason !== 'first').length).toBeGreaterThan(0);
  });

  it('loses nothing and mixes nothing up when it is killed again and again', { timeout: 60_000 }, async () => {
    await using fixture = await opened();
    const { sandbox } = fixture;
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

  it('is there again after it died', async () => {
    await using fixture = await opened();
    await fixture.sandbox.start();
    await fixture.sandbox.run(request(0));
    process.kill(fixture.sandbox.pid as number, 'SIGKILL');
    expect(await fixture.sandbox.run(request(0))).toEqual(answer('av'));
  });

  it('is small', async () => {
    await using fixture = await opened();
    await fixture.sandbox.start();
    for (let at = 0; at < 2_000; at++) await fixture.sandbox.run(request(0, `v${at}`));
    expect(residentMbOf(fixture.sandbox.pid as number)).toBeLessThan(90);
  });

  it('keeps nothing of the texts that it has read', async () => {
    await using fixture = await opened();
    await fixture.sandbox.start();
    const large = 'v'.repeat(100_000);
    const read = async (requests: number) => {
      for (let at = 0; at < requests; at++)
        expect(await fixture.sandbox.run(request(1, `${at}${large}`))).toEqual(answer('n'));
    };
    await read(10);
    const before = residentMbOf(fixture.sandbox.pid as number) as number;
    await read(300);
    expect((residentMbOf(fixture.sandbox.pid as number) as number) - before).toBeLessThan(15);
  });

  it('stays bounded with as many of the largest objects in it as it takes at once', { timeout: 60_000 }, async () => {
    await using fixture = await opened({ setup: { ...setup, expressions: ['value.slice(1)'], timeoutMs: 5_000 } });
    await fixture.sandbox.start();
    // As much text as etcd takes in one object.
    const values = Array.from({ length: 6 }, (_, at) => String.fromCodePoint(97 + at).repeat(262_000));
    const text = JSON.stringify([null, null, 0, values]);
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => fixture.sandbox.run(text)));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['answer']));
    const peakMb = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${fixture.sandbox.pid}/status`, 'utf8'))?.[1];
    expect(Number(peakMb) / 1_024).toBeLessThan(200);
  });

  it('stays bounded, and lives, when short requests have the longest answers', { timeout: 60_000 }, async () => {
    const reasons: StartReason[] = [];
    const expressions = ['value.repeat(262144)', '"a" + value'].map((source) => compiled(source).code);
    await using fixture = await opened({
      setup: { ...setup, expressions, timeoutMs: 5_000 },
      onStart: (reason) => reasons.push(reason),
    });
    await fixture.sandbox.start();
    // Two bytes for each character in memory, three on the way.
    const long = JSON.stringify([null, null, 0, Array.from({ length: 12 }, () => '日')]);
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, at) => fixture.sandbox.run(at % 4 === 3 ? request(1) : long)),
    );
    const lengthOf = (outcome: SandboxOutcome) => (outcome.kind === 'answer' ? outcome.text.length : outcome.kind);
    // With quotes, commas and the brackets around them.
    expect(outcomes.map(lengthOf)).toEqual(outcomes.map((_, at) => (at % 4 === 3 ? 8 : 12 * 262_147 + 3)));
    // The watchdog may have lost its patience with a process that is slow or large, but none has run out of memory by itself.
    expect(reasons).not.toContain('died');
  });

  it('leaves no process behind', async () => {
    const fixture = await opened();
    await fixture.sandbox.start();
    const pid = fixture.sandbox.pid as number;
    await fixture.sandbox.stop();
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
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
 * The first time that a thread has to queue for one of V8's locks (absl::Mutex, in Enqueue and LockSlow), the lock counts the
 * processors and asks for their clock rate, once in the life of a process each. The warm-up provokes both, but whether threads
 * meet is chance, so each may still come once later: to read, and at exactly these places.
 */
const looksOfLock = ['/sys/devices/system/cpu/online', '/sys/devices/system/cpu/cpu0/tsc_freq_khz'];

function isLookOfLock(line: string, earlier: readonly string[]): boolean {
  const path = looksOfLock.find((one) => line.includes(`openat(AT_FDCWD, "${one}", O_RDONLY|O_CLOEXEC`));
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
      const on = await evaluator({ expressions, openSandbox: (made) => openChild(made), softMs: 100 });
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
        for (const expression of expressions as CompiledExpression[]) await evaluateOne(on, expression, { value: 'v' });
        strace.kill('SIGINT');
        await once(strace, 'exit');
        const lines = readFileSync(file, 'utf8').split('\n');
        // Threads that the isolates of isolated-vm run on share everything with the process.
        const isThread = (line: string) => /clone3?\(.*CLONE_THREAD/.test(line);
        const calledAfter = lines.filter((line) => /^\d+ +\w+\(/.test(line) && !isThread(line));
        const made = calledAfter.filter((line, at) => !isLookOfLock(line, calledAfter.slice(0, at)));
        expect(made).toEqual([]);
      } finally {
        strace.kill('SIGKILL');
        rmSync(folder, { recursive: true });
      }
    },
  );
});
