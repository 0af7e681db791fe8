// The loop of the sandbox process: reads requests from one channel, runs each in the hardened isolate and writes the answers back.
// The process has no credentials, no files and no network, and it ends when the channel closes. It never reads the content of a
// request or an answer: both are texts that pass through.
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { SandboxSetup } from '../realm/harness.ts';
import { batchesOf } from './batches.ts';
import { type Frame, FrameReader, FrameWriter } from './frames.ts';
import { type CompiledHarnesses, HardenedIsolate } from './isolate.ts';
import { firstSliceMs, isCostly } from './time-slice.ts';

export interface SandboxProcessOptions {
  channel: Duplex;
  /** The main file of isolated-vm. */
  home: string;
  /** Processor time of this thread so far. */
  cpuMs: () => number;
  /** Ends the process at once. */
  die: (message: string) => void;
}

/**
 * Unread characters beyond which the process waits for the daemon before it runs more. A short request can have the longest
 * answer, and sixteen such answers are larger than the whole heap of the process.
 */
const maxUnsentChars = 1_048_576;

/** Runs of one request in short slices: on an overloaded machine a harmless request needs no more than a few. */
const mostShortRuns = 8;
/** The full time limit is hundreds of times what a harmless request needs, and other requests wait for this one. */
const mostLongRuns = 2;
/** Share of the time that counts as all of it, because other threads of the process take a little. */
const fullShare = 0.8;

export function serveSandbox(options: SandboxProcessOptions): void {
  const { channel } = options;
  const reader = new FrameReader();
  const frames = new FrameWriter();
  const outbox = { add: (frame: Frame) => frames.add(frame), flush: () => frames.writeTo(channel) };
  const harnesses: CompiledHarnesses = new Map();
  let isolate: HardenedIsolate | undefined;
  const setUp = ({ id, text }: Frame): void => {
    const setup: SandboxSetup = JSON.parse(text);
    const isFirst = isolate === undefined;
    isolate?.stop();
    const { home, cpuMs, die } = options;
    isolate = new HardenedIsolate({ setup, home, harnesses, cpuMs, onCatastrophe: die });
    if (isFirst) isolate.warmUp();
    isolate.start();
    outbox.add({ id, kind: 'ready', text: '' });
  };
  const answer = (requests: readonly Frame[]): void => {
    if (isolate === undefined) throw new Error('run a request: wanted the set-up first, found none');
    const answers = requests.length > 1 ? runBatch(isolate, requests, again) : undefined;
    for (const [at, { id }] of requests.entries()) {
      const known = answers?.[at];
      if (known !== undefined) outbox.add({ id, kind: 'answer', text: known });
      else if (requests.length > 1) outbox.add({ id, kind: 'unsure', text: '' });
      else outbox.add(answerOf(isolate, requests[0] as Frame, again));
    }
    // Flush before the next batch begins: if that batch ends the process, the daemon can rule out the requests of this batch.
    outbox.flush();
  };
  const again = (): void => {
    outbox.add({ id: 0, kind: 'again', text: '' });
    outbox.flush();
  };
  const serve = async (chunk: Buffer): Promise<void> => {
    for (const batch of batchesOf(reader.read(chunk))) {
      const [first] = batch as [Frame];
      if (first.kind === 'setup') setUp(first);
      else answer(batch);
      if (channel.writableLength <= maxUnsentChars) continue;
      outbox.flush();
      channel.pause();
      await once(channel, 'drain');
    }
    outbox.flush();
    if (channel.isPaused()) channel.resume();
  };
  // A rejection stays uncaught on purpose: it ends the process, and standard error says why.
  channel.on('data', (chunk: Buffer) => void serve(chunk));
  channel.on('error', () => options.die('the channel is broken'));
  channel.on('close', () => options.die('the channel is closed'));
}

function runBatch(
  isolate: HardenedIsolate,
  requests: readonly Frame[],
  again: () => void,
): readonly string[] | undefined {
  const texts = requests.map(({ text }) => text);
  const sliceMs = Math.min(firstSliceMs(texts.reduce((sum, text) => sum + text.length, 0)), isolate.timeoutMs);
  const run = () => isolate.runBatch(texts, sliceMs);
  return untilItHadItsTime(run, {
    isolate,
    sliceMs,
    mostRuns: mostShortRuns,
    again,
    isOver: (answers) => answers !== undefined,
  });
}

function answerOf(isolate: HardenedIsolate, { id, kind, text }: Frame, again: () => void): Frame {
  const sliceMs = kind === 'long' ? isolate.timeoutMs : Math.min(firstSliceMs(text.length), isolate.timeoutMs);
  const run = () => isolate.run(text, { sliceMs });
  const mostRuns = kind === 'long' ? mostLongRuns : mostShortRuns;
  const outcome = untilItHadItsTime(run, {
    isolate,
    sliceMs,
    mostRuns,
    again,
    isOver: (one) => one.kind !== 'timeout',
  });
  if (outcome.kind !== 'answer')
    return { id, kind: outcome.kind, text: outcome.kind === 'broken' ? outcome.message : '' };
  return { id, kind: staysCostly(isolate, text) ? 'costly' : 'answer', text: outcome.text };
}

/** The first run in a new isolate compiles the code and takes longer, so a request that seems costly is measured once more. */
function staysCostly(isolate: HardenedIsolate, text: string): boolean {
  const sliceMs = firstSliceMs(text.length);
  const isNear = isCostly(isolate.lastCallCpuMs, text.length) && isolate.lastCallCpuMs < sliceMs;
  if (isNear) isolate.run(text, { sliceMs });
  return isCostly(isolate.lastCallCpuMs, text.length);
}

/**
 * The limit of V8 is one of wall time, and on a busy machine the process may get little of a processor. Requests whose time ran out
 * before they had that much time of the processor run again.
 */
function untilItHadItsTime<T>(run: () => T, { isolate, sliceMs, mostRuns, again, isOver }: Trying<T>): T {
  let cpuMs = 0;
  for (let runs = 1; ; runs++) {
    const outcome = run();
    cpuMs += isolate.lastCallCpuMs;
    if (isOver(outcome) || cpuMs >= sliceMs * fullShare || runs >= mostRuns) return outcome;
    again();
  }
}

interface Trying<T> {
  isolate: HardenedIsolate;
  sliceMs: number;
  mostRuns: number;
  again: () => void;
  isOver: (outcome: T) => boolean;
}
