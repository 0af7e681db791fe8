import { describe, expect, it } from 'vitest';
import { sandboxLimits } from '../../../src/expression/limits.ts';
import { ChildSandbox, type StartReason } from '../../../src/expression/sandbox/child-sandbox.ts';
import type { RunOptions, SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { createLog, silentLog } from '../../../src/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { fakeProcesses } from './fake-process.ts';

const setup = {
  ...{ harness: '', expressions: [], functions: [], vcluster: '{}' },
  ...{ memoryLimitMb: 32, timeoutMs: 500, callsPerIsolate: 1_000 },
};

async function turn(): Promise<void> {
  for (let at = 0; at < 4; at++) await new Promise((resolve) => setImmediate(resolve));
}

/** Advances in steps, because every step can set new timers and every frame takes a turn of the event loop. */
async function pass(clock: VirtualClock, ms: number, stepMs = 5): Promise<void> {
  for (let at = 0; at < ms; at += stepMs) {
    await clock.advance(stepMs);
    await turn();
  }
}

async function opened({ hasProc = true, log = silentLog } = {}) {
  const clock = new VirtualClock();
  const processes = fakeProcesses(clock);
  if (!hasProc) processes.residentMb = undefined;
  const reasons: StartReason[] = [];
  const onStart = (reason: StartReason) => void reasons.push(reason);
  const { launch } = processes;
  const sandbox = new ChildSandbox({ setup, clock, log, nodePath: process.execPath, launch, onStart });
  const started = sandbox.start();
  while (processes.ran.length === 0) await turn();
  await pass(clock, 100);
  await started;
  const outcomes = new Map<string, { outcome: SandboxOutcome; tookMs: number }>();
  const ask = (text: string, options: RunOptions = {}) => {
    const askedMs = clock.now();
    void sandbox.run(text, options).then((outcome) => outcomes.set(text, { outcome, tookMs: clock.now() - askedMs }));
  };
  const slowest = (texts: readonly string[]) =>
    Math.max(...texts.map((text) => outcomes.get(text)?.tookMs ?? Number.POSITIVE_INFINITY));
  return { clock, processes, reasons, sandbox, ask, outcomes, slowest };
}

const many = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name} ${at}`);

describe('requests behind one that hangs the process', () => {
  it.each([1, 14, 70])(
    'are answered within two seconds, and later requests too, with %i hanging requests',
    async (count) => {
      const { clock, ask, outcomes, slowest } = await opened();
      const before = many('before', 119);
      for (const text of many('hang', count)) ask(text);
      for (const text of before) ask(text);
      await pass(clock, 300);
      const later = many('later', 40);
      for (const text of later) {
        ask(text);
        await pass(clock, 100);
      }
      await pass(clock, 2_000);
      // A batch of eight ends the process. Good requests that shared the last batch with hanging ones wait until each of these has run.
      expect(slowest(before.slice(8))).toBeLessThan(count <= 14 ? 2_000 : 5_000);
      expect(slowest(count <= 14 ? later : later.slice(30))).toBeLessThan(2_000);
      await pass(clock, count * 200);
      for (const text of before) expect(outcomes.get(text)?.outcome).toEqual({ kind: 'answer', text: `${text}!` });
      await pass(clock, count * 2_500, 20);
      for (const text of many('hang', count)) expect(outcomes.get(text)?.outcome).toEqual({ kind: 'timeout' });
    },
  );

  it('run before it: the request that killed the process goes to the end of the queue, and restarts have no pause', async () => {
    const { clock, ask, processes, reasons } = await opened();
    ask('hang');
    await pass(clock, 200);
    ask('a');
    ask('b');
    await pass(clock, 2_800);
    // The first process hung with one request; the second process begins with the others.
    expect(processes.ran[1]?.slice(0, 3)).toEqual(['a', 'b', 'hang']);
    expect(processes.ran[2]).toEqual(['long hang']);
    expect(reasons).toEqual(['first', 'hung', 'hung', 'hung']);
  });

  it('are not suspected when they came after the oldest batch', async () => {
    const { clock, ask, processes } = await opened();
    ask('die');
    for (const text of many('good', 15)) ask(text);
    await pass(clock, 400);
    // The first eight were one batch. The other eight run at once, and the seven good requests of the batch run after them, alone.
    expect(processes.ran[1]?.slice(0, 8)).toEqual(many('good', 15).slice(7));
    expect(processes.ran.flat().filter((text) => text.startsWith('long good'))).toEqual([]);
  });
});

describe('requests behind slow ones', () => {
  it('wait only for the first slice of each slow request, and for one long run at a time', async () => {
    const { clock, ask, slowest, outcomes } = await opened();
    for (const text of many('slow', 70)) ask(text);
    const good = many('good', 20);
    for (const text of good) ask(text);
    await pass(clock, 3_000);
    const later = many('later', 20);
    for (const text of later) {
      ask(text);
      await pass(clock, 250);
    }
    await pass(clock, 1_000);
    expect(slowest(good)).toBeLessThan(3_000);
    expect(slowest(later)).toBeLessThan(1_000);
    await pass(clock, 40_000, 20);
    for (const text of many('slow', 70)) expect(outcomes.get(text)?.outcome).toEqual({ kind: 'timeout' });
  });

  it('of another cause run before them, and later ones of their own cause after a slice or two', async () => {
    const { clock, ask, slowest, outcomes } = await opened();
    for (const text of many('slow', 70)) ask(text, { cause: 'bad' });
    const others = many('other', 20);
    for (const text of others) ask(text, { cause: 'good' });
    // The sixteen requests in flight have run for a slice each, and one of them for its full time.
    await pass(clock, 16 * 25 + 600);
    expect(slowest(others)).toBeLessThan(16 * 25 + 50);
    const same = many('same', 10);
    const later = many('later', 10);
    for (const [at, text] of same.entries()) {
      ask(text, { cause: 'bad' });
      ask(later[at] as string, { cause: 'good' });
      await pass(clock, 100);
    }
    await pass(clock, 1_000);
    expect(slowest(later)).toBeLessThan(600);
    expect(slowest(same)).toBeLessThan(1_000);
    await pass(clock, 50_000, 20);
    for (const text of many('slow', 70)) expect(outcomes.get(text)?.outcome).toEqual({ kind: 'timeout' });
  });

  it('do not wait for a request that is sent with the option alone: it runs after them, with its full time', async () => {
    const { clock, ask, processes } = await opened();
    const good = many('good', 40);
    for (const text of good) ask(text);
    ask('slow', { alone: true });
    await pass(clock, 1_000);
    expect(processes.ran[0]).toEqual([...good, 'long slow']);
  });
});

describe('a process that does not start', () => {
  it('is started again after pauses, and the waiting requests fail', async () => {
    const { clock, ask, processes, outcomes, reasons } = await opened();
    processes.failingStarts = 5;
    ask('die');
    ask('good');
    await pass(clock, 2_000);
    expect(outcomes.get('good')?.outcome).toMatchObject({ kind: 'unavailable' });
    await pass(clock, 40_000, 20);
    ask('again');
    await pass(clock, 2_000);
    expect(outcomes.get('again')?.outcome).toEqual({ kind: 'answer', text: 'again!' });
    expect(reasons.length).toBeLessThan(10);
  });
});

describe('a process that swells', () => {
  it('is not noticed without /proc, and the log says so at the start, once', async () => {
    const lines: string[] = [];
    const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } });
    const { clock, ask } = await opened({ hasProc: false, log });
    expect(lines).toEqual([expect.stringContaining('no /proc')]);
    ask('a');
    await pass(clock, 100);
    expect(lines).toHaveLength(1);
  });

  it('is killed while it runs a request, and a request that was alone fails for its memory', async () => {
    const { clock, ask, processes, outcomes, reasons } = await opened();
    ask('hang');
    processes.residentMb = sandboxLimits.processMb + 1;
    await pass(clock, 300);
    expect(outcomes.get('hang')?.outcome).toEqual({ kind: 'memory' });
    expect(reasons).toEqual(['first', 'swollen', 'swollen']);
  });
});

describe('the waiting requests', () => {
  it('are bounded by their characters too', async () => {
    const { ask, outcomes, sandbox } = await opened();
    const large = 'x'.repeat(sandboxLimits.frameChars);
    ask('hang');
    for (let at = 0; at < 48; at++) ask(`${at}${large}`);
    await turn();
    const refused = [...outcomes.values()].filter(({ outcome }) => outcome.kind === 'unavailable');
    expect(refused.length).toBeGreaterThan(10);
    await sandbox.stop();
  });
});
