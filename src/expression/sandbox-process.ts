// The life of the sandbox process: read requests from one channel, run each in the hardened isolate, write answers back.
// It has no credentials, no environment but one number for the C library, no files and no network; it ends when the channel
// does. Never does it look into a request or an answer: they are texts that pass through.
import type { Duplex } from 'node:stream';
import { encodeFrame, type Frame, FrameReader } from './frames.ts';
import type { SandboxSetup } from './harness.ts';
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

export function serveSandbox(options: SandboxProcessOptions): void {
  const { channel } = options;
  const reader = new FrameReader();
  const outbox = new Outbox(options);
  const harnesses: CompiledHarnesses = new Map();
  let isolate: HardenedIsolate | undefined;
  const handle = (frame: Frame): Frame => {
    if (frame.kind === 'setup') {
      const setup: SandboxSetup = JSON.parse(frame.text);
      const isFirst = isolate === undefined;
      isolate?.stop();
      isolate = new HardenedIsolate({ setup, home: options.home, harnesses, onCatastrophe: options.die });
      if (isFirst) isolate.warmUp();
      isolate.start();
      return { id: frame.id, kind: 'ready', text: '' };
    }
    const outcome = isolate?.run(frame.text) ?? { kind: 'broken', message: 'a request came before the set-up' };
    const text = outcome.kind === 'answer' ? outcome.text : outcome.kind === 'broken' ? outcome.message : '';
    return { id: frame.id, kind: outcome.kind, text };
  };
  channel.on('data', (chunk: Buffer) => {
    for (const frame of reader.read(chunk)) outbox.add(encodeFrame(handle(frame)));
    outbox.flush();
  });
  channel.on('error', () => options.die('the channel is broken'));
  channel.on('close', () => options.die('the channel is closed'));
}

class Outbox {
  readonly #options: SandboxProcessOptions;
  #frames = '';
  #flushedAt = 0;

  constructor(options: SandboxProcessOptions) {
    this.#options = options;
  }

  add(frame: string): void {
    this.#frames += frame;
    if (this.#frames.length > flushChars || this.#options.now() - this.#flushedAt > flushAfterMs) this.flush();
  }

  flush(): void {
    if (this.#frames !== '') this.#options.channel.write(this.#frames);
    this.#frames = '';
    this.#flushedAt = this.#options.now();
  }
}
