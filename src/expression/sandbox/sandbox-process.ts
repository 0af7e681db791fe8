// The life of the sandbox process: read requests from one channel, run each in the hardened isolate, write answers back.
// It has no credentials, no environment but one number for the C library, no files and no network; it ends when the channel
// does. Never does it look into a request or an answer: they are texts that pass through.
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { SandboxSetup } from '../realm/harness.ts';
import { Batches } from './batches.ts';
import { type Frame, FrameReader, FrameWriter } from './frames.ts';
import { type CompiledHarnesses, HardenedIsolate } from './isolate.ts';

export interface SandboxProcessOptions {
  channel: Duplex;
  /** A file from which isolated-vm can be found. */
  home: string;
  now: () => number;
  /** Ends the process at once. */
  die: (message: string) => void;
}

/** Answers of one chunk go out together, but none waits longer: the watchdog counts from the last one it saw. */
const flushAfterMs = 0.5;
const flushChars = 262_144;

/**
 * Characters that wait for the daemon to read them before more is run: sixteen of the longest answers, which short requests can
 * have, are more than the whole heap of the process.
 */
const mostUnsent = 1_048_576;

export function serveSandbox(options: SandboxProcessOptions): void {
  const { channel } = options;
  const reader = new FrameReader();
  const batches = new Batches();
  const outbox = new Outbox(options);
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
    const answers = requests.length > 1 ? isolate?.answersTo(requests.map(({ text }) => text)) : undefined;
    for (const [at, { id, text }] of requests.entries()) {
      const known = answers?.[at];
      outbox.add(known === undefined ? answerOne(id, text) : { id, kind: 'answer', text: known });
      if (known === undefined) outbox.flushIfLate();
    }
    if (answers !== undefined) outbox.flush();
    else if (requests.length > 1) batches.cameToNothing();
  };
  const answerOne = (id: number, request: string): Frame => {
    const outcome = isolate?.run(request) ?? { kind: 'broken', message: 'a request came before the set-up' };
    const text = outcome.kind === 'answer' ? outcome.text : outcome.kind === 'broken' ? outcome.message : '';
    return { id, kind: outcome.kind, text };
  };
  const serve = async (chunk: Buffer): Promise<void> => {
    for (const frames of batches.of(reader.read(chunk))) {
      const [first] = frames as [Frame];
      if (first.kind === 'setup') setUp(first);
      else answer(frames);
      if (channel.writableLength <= mostUnsent) continue;
      outbox.flush();
      channel.pause();
      await once(channel, 'drain');
    }
    outbox.flush();
    if (channel.isPaused()) channel.resume();
  };
  // Nobody catches a fault of it: so it ends the process, and its last words say why.
  channel.on('data', (chunk: Buffer) => void serve(chunk));
  channel.on('error', () => options.die('the channel is broken'));
  channel.on('close', () => options.die('the channel is closed'));
}

class Outbox {
  readonly #options: SandboxProcessOptions;
  readonly #frames = new FrameWriter();
  #flushedAt = 0;

  constructor(options: SandboxProcessOptions) {
    this.#options = options;
  }

  add(frame: Frame): void {
    this.#frames.add(frame);
  }

  flushIfLate(): void {
    if (this.#frames.chars > flushChars || this.#options.now() - this.#flushedAt > flushAfterMs) this.flush();
  }

  flush(): void {
    this.#frames.writeTo(this.#options.channel);
    this.#flushedAt = this.#options.now();
  }
}
