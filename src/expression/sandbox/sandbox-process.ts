// The loop of the sandbox process: reads requests from one channel, runs each in the hardened isolate and writes the answers back.
// The process has no credentials, no files and no network, and it ends when the channel closes. It never reads the content of a
// request or an answer: both are texts that pass through.
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { SandboxSetup } from '../realm/harness.ts';
import { Batches } from './batches.ts';
import { type Frame, FrameReader, FrameWriter } from './frames.ts';
import { type CompiledHarnesses, HardenedIsolate } from './isolate.ts';
import { firstSliceMs } from './time-slice.ts';

export interface SandboxProcessOptions {
  channel: Duplex;
  /** A file from which Node resolves isolated-vm. */
  home: string;
  /** Ends the process at once. */
  die: (message: string) => void;
}

/**
 * Unread characters beyond which the process waits for the daemon before it runs more. A short request can have the longest
 * answer, and sixteen such answers are larger than the whole heap of the process.
 */
const maxUnsentChars = 1_048_576;

export function serveSandbox(options: SandboxProcessOptions): void {
  const { channel } = options;
  const reader = new FrameReader();
  const batches = new Batches();
  const frames = new FrameWriter();
  const outbox = { add: (frame: Frame) => frames.add(frame), flush: () => frames.writeTo(channel) };
  const harnesses: CompiledHarnesses = new Map();
  let isolate: HardenedIsolate | undefined;
  const setUp = ({ id, text }: Frame): void => {
    const setup: SandboxSetup = JSON.parse(text);
    const isFirst = isolate === undefined;
    isolate?.stop();
    isolate = new HardenedIsolate({ setup, home: options.home, harnesses, onCatastrophe: options.die });
    if (isFirst) isolate.warmUp();
    isolate.start();
    outbox.add({ id, kind: 'ready', text: '' });
  };
  const answer = (requests: readonly Frame[]): void => {
    const texts = requests.map(({ text }) => text);
    const answers =
      texts.length > 1
        ? isolate?.runBatch(texts, firstSliceMs(texts.reduce((sum, text) => sum + text.length, 0)))
        : undefined;
    for (const [at, request] of requests.entries()) {
      const known = answers?.[at];
      outbox.add(known === undefined ? answerOne(request) : { id: request.id, kind: 'answer', text: known });
      if (answers === undefined) outbox.flush();
    }
    // Flush before the next batch begins: if that batch ends the process, the daemon can rule out the requests of this batch.
    outbox.flush();
    if (answers === undefined && requests.length > 1) batches.batchFailed();
  };
  const answerOne = ({ id, kind, text: request }: Frame): Frame => {
    const slice = kind === 'long' ? {} : { sliceMs: firstSliceMs(request.length) };
    const outcome = isolate?.run(request, slice) ?? { kind: 'broken', message: 'a request came before the set-up' };
    const text = outcome.kind === 'answer' ? outcome.text : outcome.kind === 'broken' ? outcome.message : '';
    return { id, kind: outcome.kind, text };
  };
  const serve = async (chunk: Buffer): Promise<void> => {
    for (const batch of batches.split(reader.read(chunk))) {
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
