// The loop of the sandbox process: reads requests from one channel, runs each in the hardened isolate and writes the answers back.
// The process has no credentials, no files and no network, and it ends when the channel closes. It never reads the content of a
// request or an answer: both are texts that pass through.
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { SandboxSetup } from '../realm/harness.ts';
import { type Frame, FrameReader, writeFrame } from './frames.ts';
import { HardenedIsolate, type IsolateOutcome } from './isolate.ts';

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

/** Runs of the same requests: on an overloaded machine harmless ones need no more than a few. */
const mostRuns = 4;
/** Share of the time that counts as all of it, because other threads of the process take a little. */
const fullShare = 0.8;

export function serveSandbox(options: SandboxProcessOptions): void {
  const { channel, home, cpuMs, die } = options;
  const reader = new FrameReader();
  let isolate: HardenedIsolate | undefined;
  const setUp = ({ number, text }: Frame): void => {
    const setup: SandboxSetup = JSON.parse(text);
    const isFirst = isolate === undefined;
    isolate?.stop();
    isolate = new HardenedIsolate({ setup, home, cpuMs, onCatastrophe: die });
    if (isFirst) isolate.warmUp();
    isolate.start();
    writeFrame(channel, { kind: 'ready', number, text: '' });
  };
  const answer = ({ number, text }: Frame): void => {
    if (isolate === undefined) throw new Error('run a request: wanted the set-up first, found none');
    const outcome = untilItHadItsTime(isolate, text.split('\n'), number);
    if (outcome.kind === 'answer')
      for (const one of outcome.texts) writeFrame(channel, { kind: 'answer', number: 0, text: one });
    else writeFrame(channel, { kind: outcome.kind, number: 0, text: outcome.kind === 'broken' ? outcome.message : '' });
  };
  /**
   * The limit of V8 is one of wall time, and on a busy machine the process may get little of a processor. Requests whose time ran
   * out before they had that much time of the processor run again.
   */
  const untilItHadItsTime = (inside: HardenedIsolate, texts: readonly string[], ms: number): IsolateOutcome => {
    let usedMs = 0;
    for (let runs = 1; ; runs++) {
      const outcome = inside.run(texts, ms);
      usedMs += inside.lastCallCpuMs;
      if (outcome.kind !== 'timeout' || usedMs >= ms * fullShare || runs >= mostRuns) return outcome;
      channel.uncork();
      writeFrame(channel, { kind: 'again', number: 0, text: '' });
      channel.cork();
    }
  };
  const serve = async (chunk: Buffer): Promise<void> => {
    for (const frame of reader.read(chunk)) {
      // The answers leave before the next batch begins: if that batch ends the process, the daemon can rule out this one.
      channel.cork();
      if (frame.kind === 'setup') setUp(frame);
      else answer(frame);
      channel.uncork();
      if (channel.writableLength <= maxUnsentChars) continue;
      channel.pause();
      await once(channel, 'drain');
    }
    if (channel.isPaused()) channel.resume();
  };
  // A rejection stays uncaught on purpose: it ends the process, and standard error says why.
  channel.on('data', (chunk: Buffer) => void serve(chunk));
  channel.on('error', () => die('the channel is broken'));
  channel.on('close', () => die('the channel is closed'));
}
