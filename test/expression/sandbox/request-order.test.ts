import { describe, expect, it } from 'vitest';
import { sandboxLimits } from '../../../src/expression/limits.ts';
import { ChildSandbox, type StartReason } from '../../../src/expression/sandbox/child-sandbox.ts';
import type { LineEnd } from '../../../src/expression/sandbox/line.ts';
import type { RunOptions, SandboxOutcome } from '../../../src/expression/sandbox/sandbox.ts';
import { Worker } from '../../../src/expression/sandbox/worker.ts';
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

async function opened({ hasProc = true, log = silentLog, residentMb = 60 } = {}) {
  const clock = new VirtualClock();
  const processes = fakeProcesses(clock);
  processes.residentMb = hasProc ? residentMb : undefined;
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

/** Causes of requests, as the evaluator numbers expressions. */
const bad = { causes: [1] };
const good = { causes: [2] };

describe.each(['hang', 'slow', 'die'])('requests with expressions on which a process would %s', (kind) => {
  it.each([1, 14, 70])(
    'delay other requests once and shortly, and harmless ones of their own by two seconds at most, with %i of them',
    async (count) => {
      const { clock, ask, outcomes, slowest } = await opened();
      for (const text of many(kind, count)) ask(text, bad);
      const before = many('before', 119);
      for (const text of before) ask(text, good);
      await pass(clock, 500);
      // Two batches are on their way when the first one fails; a process that hangs is watched for 55 ms and started in 60 ms.
      expect(slowest(before)).toBeLessThan(400);
      const [later, same] = [many('later', 100), many('same', 100)];
      for (const [at, text] of later.entries()) {
        ask(text, good);
        ask(same[at] as string, bad);
        await pass(clock, 50);
      }
      await pass(clock, 2_000);
      expect(slowest(later)).toBeLessThan(30);
      expect(slowest(same)).toBeLessThan(2_000);
      for (const text of [...before, ...later, ...same])
        expect(outcomes.get(text)?.outcome).toMatchObject({ kind: 'answer' });
      await pass(clock, count * 1_300, 20);
      const failed = many(kind, count).map((text) => outcomes.get(text)?.outcome.kind);
      expect(new Set(failed)).toEqual(new Set([kind === 'die' ? 'crash' : 'timeout']));
    },
  );
});

describe('a request that fails in a batch', () => {
  it('takes the others of the batch to the slow process, where they are answered before it', async () => {
    const { clock, ask, outcomes, processes, slowest } = await opened();
    ask('slow', bad);
    const innocent = many('same', 7);
    for (const text of innocent) ask(text, bad);
    await pass(clock, 200);
    expect(slowest(innocent)).toBeLessThan(160);
    expect(outcomes.has('slow')).toBe(false);
    expect(processes.ran[1]?.at(-1)).toBe('long slow');
  });

  it.each(['slow', 'die'])(
    'shares no batch with requests of other causes, and delays them by its own time: %s',
    async (kind) => {
      const { clock, ask, slowest, processes } = await opened();
      ask(kind, bad);
      for (const text of many('good', 15)) ask(text, good);
      await pass(clock, 400);
      expect(slowest(many('good', 15))).toBeLessThan(kind === 'die' ? 100 : 50);
      expect(processes.ran.at(-1)?.filter((text) => text.startsWith('good'))).toEqual([]);
    },
  );
});

describe('a harmless request among forty hostile ones that come with it', () => {
  // Each that hangs or dies takes a process with it: 55 ms until it is known, and 60 for the next process. Nobody knows which is harmless.
  it.each([
    ['slow', 1_000],
    ['die', 3_000],
    ['hang', 5_000],
  ])('waits 150 ms with another expression, and with theirs for a slice of each at most: %s', async (kind, mostMs) => {
    for (const at of [0, 40]) {
      const { clock, ask, slowest } = await opened();
      const texts = many(kind, 40);
      texts.splice(at, 0, 'same');
      for (const text of texts) ask(text, bad);
      ask('other', good);
      await pass(clock, mostMs);
      expect(slowest(['other'])).toBeLessThan(150);
      expect(slowest(['same'])).toBeLessThan(mostMs);
    }
  });
});

describe('a request of a known object', () => {
  it.each(['slow', 'die', 'hang'])('comes before all others of its causes at the back: %s', async (kind) => {
    for (const at of [0, 20, 40]) {
      const { clock, ask, slowest } = await opened();
      const texts = many(kind, 40);
      texts.splice(at, 0, 'same');
      for (const text of texts) ask(text, { ...bad, isOfKnown: text === 'same' });
      await pass(clock, 600);
      expect(slowest(['same'])).toBeLessThan(500);
    }
  });
});

describe('requests that hang, with alternating causes', () => {
  it('use up a slice for each cause, because two batches at most are on their way', async () => {
    const { clock, ask, slowest } = await opened();
    for (let at = 0; at < 21; at++) ask(`slow ${at}`, { causes: [at % 3] });
    ask('good', { causes: [5] });
    await pass(clock, 200);
    expect(slowest(['good'])).toBeLessThan(100);
  });
});

describe('while a request that ran out waits at the back', () => {
  it('requests with its cause, alone or with others, go there too, and to the front again afterwards', async () => {
    const { clock, ask, processes } = await opened();
    ask('slow', { causes: [1] });
    await pass(clock, 200);
    ask('both', { causes: [1, 2] });
    ask('other', { causes: [2, 3] });
    await pass(clock, 1_000);
    expect(processes.ran).toEqual([
      ['slow', 'other'],
      ['long slow', 'both'],
    ]);
    ask('again', { causes: [1, 2] });
    await pass(clock, 100);
    expect(processes.ran[0]?.at(-1)).toBe('again');
  });

  it('requests with only one of its several causes do not', async () => {
    const { clock, ask, processes } = await opened();
    ask('slow', { causes: [1, 2] });
    await pass(clock, 200);
    ask('one', { causes: [1] });
    ask('both', { causes: [1, 2] });
    await pass(clock, 1_000);
    expect(processes.ran.map((ran) => ran.at(-1))).toEqual(['one', 'both']);
  });
});

describe('requests that take long without running out', () => {
  it('delay one of another cause by two slices', async () => {
    const { clock, ask, slowest, outcomes } = await opened();
    for (const text of many('costly', 300)) ask(text, bad);
    ask('good', good);
    await pass(clock, 100);
    expect(slowest(['good'])).toBeLessThan(50);
    await pass(clock, 4_000, 20);
    for (const text of many('costly', 300)) expect(outcomes.get(text)?.outcome).toMatchObject({ kind: 'answer' });
  });
});

describe('a request whose expression ran out on another value lately', () => {
  it('goes to the back, where it gets a slice first', async () => {
    const { clock, ask, processes } = await opened();
    ask('later', { ...bad, isSuspected: true });
    ask('good', good);
    await pass(clock, 200);
    expect(processes.ran).toEqual([['good'], ['later']]);
  });
});

describe('the slow process', () => {
  it('runs a request that is sent with the option alone, with its full time', async () => {
    const { clock, ask, processes, reasons } = await opened();
    const quick = many('good', 40);
    for (const text of quick) ask(text);
    ask('slow', { alone: true });
    await pass(clock, 1_000);
    expect(processes.ran).toEqual([quick, ['long slow']]);
    expect(reasons).toEqual(['first', 'suspect']);
  });

  it('ends after ten seconds without a request, and is started again for the next one', async () => {
    const { clock, ask, processes, sandbox, outcomes } = await opened();
    ask('a', { alone: true });
    await pass(clock, 500);
    expect(processes.living()).toBe(2);
    await pass(clock, 10_100, 100);
    expect(processes.living()).toBe(1);
    ask('b', { alone: true });
    await pass(clock, 500);
    expect(outcomes.get('b')?.outcome).toEqual({ kind: 'answer', text: 'b!' });
    await sandbox.stop();
    expect([processes.living(), clock.pendingTimers]).toEqual([0, 0]);
  });

  it('delays no other request when it cannot be started', async () => {
    const { clock, ask, processes, outcomes, slowest } = await opened();
    processes.failingStarts = 5;
    ask('slow', bad);
    await pass(clock, 100);
    ask('good', good);
    await pass(clock, 2_000);
    expect(slowest(['good'])).toBeLessThan(30);
    expect(outcomes.get('slow')?.outcome).toMatchObject({ kind: 'unavailable' });
  });
});

describe('on a machine that gives the process little of a processor', () => {
  it('a process that hangs is recognised by its processor time, and by the time of the clock much later', async () => {
    const { clock, ask, processes, reasons } = await opened();
    processes.cpuShare = 0;
    ask('hang', bad);
    await pass(clock, 500);
    expect(reasons).toEqual(['first']);
    await pass(clock, 100);
    expect(reasons).toEqual(['first', 'hung', 'suspect']);
  });

  it('a process without readings of its processor time gets more time', async () => {
    const { clock, ask, processes, reasons } = await opened();
    processes.cpuShare = undefined;
    ask('hang', bad);
    await pass(clock, 400);
    expect(reasons).toEqual(['first']);
    await pass(clock, 200);
    expect(reasons).toEqual(['first', 'hung', 'suspect']);
  });
});

describe('requests of different causes', () => {
  it('take turns, so that a request waits for a few of another cause only', async () => {
    const { clock, ask, outcomes } = await opened();
    for (const text of many('first', 2_000)) ask(text, bad);
    ask('second', good);
    await pass(clock, 60);
    expect(outcomes.get('second')?.tookMs).toBeLessThan(50);
    await pass(clock, 3_000, 20);
    expect(outcomes.size).toBe(2_001);
  });
});

describe('a process that does not start', () => {
  it('is started again after pauses, and the waiting requests fail', async () => {
    const { clock, ask, processes, outcomes, reasons } = await opened();
    processes.failingStarts = 8;
    ask('die');
    ask('good');
    await pass(clock, 2_000);
    expect(outcomes.get('good')?.outcome).toMatchObject({ kind: 'unavailable' });
    await pass(clock, 40_000, 20);
    ask('again');
    await pass(clock, 2_000);
    expect(outcomes.get('again')?.outcome).toEqual({ kind: 'answer', text: 'again!' });
    expect(reasons.length).toBeLessThan(12);
  });
});

describe('a process that swells', () => {
  const freshMb = 60;
  const largeMb = freshMb + sandboxLimits.quickGrowthMb + 1;
  const suspected = { ...bad, isSuspected: true };

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
    processes.sizesMb = [largeMb];
    ask('hang');
    await pass(clock, 150);
    processes.sizesMb = [largeMb, freshMb, freshMb + sandboxLimits.bothGrowthMb + 1];
    await pass(clock, 150);
    expect(outcomes.get('hang')?.outcome).toEqual({ kind: 'memory' });
    expect(reasons).toEqual(['first', 'swollen', 'suspect', 'swollen']);
  });

  it('is replaced before the slow process starts, because it keeps its size', async () => {
    const { clock, ask, processes, reasons, outcomes } = await opened();
    processes.sizesMb = [largeMb - 10];
    ask('bad', suspected);
    await pass(clock, 300);
    expect(outcomes.get('bad')?.outcome).toEqual({ kind: 'answer', text: 'bad!' });
    expect(reasons).toEqual(['first', 'retired', 'suspect']);
  });

  it('ends the idle slow process when a large request needs the room, and the next suspect starts it again', async () => {
    const { clock, ask, processes, reasons, outcomes } = await opened();
    ask('bad', suspected);
    await pass(clock, 300);
    expect(processes.living()).toBe(2);
    processes.sizesMb = [largeMb - 10, freshMb];
    ask('x'.repeat(400_000), good);
    for (let at = 0; at < 20; at++) ask(`good ${at}`, good);
    await pass(clock, 100);
    expect(processes.living()).toBe(1);
    ask('worse', suspected);
    await pass(clock, 300);
    expect(outcomes.get('worse')?.outcome).toEqual({ kind: 'answer', text: 'worse!' });
    expect(reasons).toEqual(['first', 'suspect', 'retired', 'suspect']);
  });

  it('may be as large as a fresh process on its machine', async () => {
    const { clock, ask, reasons, outcomes } = await opened({ residentMb: 200 });
    ask('bad', suspected);
    await pass(clock, 300);
    expect(outcomes.get('bad')?.outcome).toEqual({ kind: 'answer', text: 'bad!' });
    expect(reasons).toEqual(['first', 'suspect']);
  });
});

describe('a process that has nothing to do', () => {
  it('is not looked at', async () => {
    const clock = new VirtualClock();
    const { launch } = fakeProcesses(clock);
    const end = { take: () => undefined, putBack: () => {}, ranOut: () => {}, failAll: () => {} } as unknown as LineEnd;
    const options = { setup, end, mostBatches: 2, clock, log: silentLog, nodePath: '', args: [], launch };
    const worker = new Worker({ ...options, isTooLarge: () => false });
    const started = worker.start();
    await pass(clock, 500);
    await started;
    worker.makeRoom();
    worker.wake();
    await turn();
    expect(clock.pendingTimers).toBe(0);
    await worker.stop();
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
