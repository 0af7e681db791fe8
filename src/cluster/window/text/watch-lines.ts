// Splits a byte stream into lines, whatever the sizes of its chunks, and decodes a line into a watch event. A malformed
// line is reported as a fault of the stream and never skipped, because the line may have held a change.
import { isUtf8 } from 'node:buffer';
import type { KubeObject, WatchEventType } from '../../../object/meta/object.ts';
import { GatheredBytes } from '../../../object/text/gathered-bytes.ts';
import { isRecord } from '../../../object/text/json.ts';
import { excerpt } from '../../errors.ts';
import { retryAfterSecondsMs } from '../../wire/status-answer.ts';

/** Above the 1.5 MiB that etcd stores, with room for escapes and managedFields. */
const lineLimitBytes = 4 * 1024 * 1024;

const newline = 0x0a;

export class LineSplitter {
  #chunks: Buffer[] = [];
  #offset = 0;
  #partial = new GatheredBytes();
  #limit: number;

  constructor(limit = lineLimitBytes) {
    this.#limit = limit;
  }

  feed(chunk: Buffer): void {
    if (chunk.length > 0) this.#chunks.push(chunk);
  }

  /** The next whole line without its end; undefined when more bytes are needed. */
  next(): { kind: 'line'; bytes: Buffer } | { kind: 'tooLong' } | undefined {
    for (;;) {
      const chunk = this.#chunks[0];
      if (chunk === undefined) return undefined;
      const end = chunk.indexOf(newline, this.#offset);
      const piece = chunk.subarray(this.#offset, end < 0 ? chunk.length : end);
      if (this.#partial.size + piece.length > this.#limit) return { kind: 'tooLong' };
      if (end < 0) {
        this.#partial.add(piece);
        this.#chunks.shift();
        this.#offset = 0;
        continue;
      }
      this.#offset = end + 1;
      if (this.#offset === chunk.length) {
        this.#chunks.shift();
        this.#offset = 0;
      }
      if (this.#partial.size === 0) return { kind: 'line', bytes: piece };
      this.#partial.add(piece);
      return { kind: 'line', bytes: this.#partial.take() };
    }
  }

  /** Whether a line has begun and its end has not arrived. */
  get unfinished(): boolean {
    return this.#partial.size > 0 || this.#chunks.length > 0;
  }
}

export type DecodedLine =
  | { kind: 'event'; type: Exclude<WatchEventType, 'ERROR'>; object: KubeObject }
  | { kind: 'error'; code: number; retryAfterMs: number | undefined; message: string }
  | { kind: 'fault'; message: string }
  /** An empty line; some proxies send these to keep a connection alive. */
  | { kind: 'blank' };

export function decodeEvent(bytes: Buffer): DecodedLine {
  if (bytes.length === 0 || (bytes.length === 1 && bytes[0] === 0x0d)) return { kind: 'blank' };
  // Decoding would replace broken bytes by U+FFFD, and a label with a wrong value would enter the cache.
  if (!isUtf8(bytes)) return { kind: 'fault', message: 'a line of the watch is not UTF-8' };
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'fault', message: `a line of the watch is not JSON, beginning "${excerpt(text, 60)}"` };
  }
  if (!isRecord(value) || !isRecord(value['object']))
    return { kind: 'fault', message: `a line of the watch is not an event, beginning "${excerpt(text, 60)}"` };
  const object = value['object'];
  switch (value['type']) {
    case 'ERROR':
      return errorOf(object);
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      if (!isRecord(object['metadata'])) return { kind: 'fault', message: 'an event of the watch has no metadata' };
      return { kind: 'event', type: value['type'], object: object as KubeObject };
    default:
      return {
        kind: 'fault',
        message: `an event of the watch has the unknown type "${excerpt(String(value['type']), 40)}"`,
      };
  }
}

function errorOf(status: Record<string, unknown>): DecodedLine {
  const details = isRecord(status['details']) ? status['details'] : {};
  return {
    kind: 'error',
    code: typeof status['code'] === 'number' ? status['code'] : 0,
    retryAfterMs: retryAfterSecondsMs(details['retryAfterSeconds']),
    message: `the watch reports: ${excerpt(String(status['message'] ?? status['reason'] ?? 'unknown error'))}`,
  };
}
