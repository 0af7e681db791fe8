// Remembers which rights to write one API server refuses, each since when, and whether other writes pass meanwhile. In: the answers to
// writes. Out: the missing rights.
import type { Clock } from '../../clock.ts';
import type { WriteRequest } from '../../cluster/write/open-writer.ts';

export interface RefusedWrite {
  resource: string;
  sinceMs: number;
  message: string;
}

interface KnownRefusal extends RefusedWrite {
  lastMs: number;
  /** Whether a write that needs another right has passed since then. */
  doOthersPass: boolean;
}

/** A refused write is tried again each minute; what nobody has asked for in three is not wanted any more. */
const forgottenAfterMs = 3 * 60_000;

export class WriteRights {
  readonly #clock: Clock;
  readonly #refused = new Map<string, KnownRefusal>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  refused(write: WriteRequest, { message, tookMs }: { message: string; tookMs: number }): void {
    const now = this.#clock.now();
    const name = nameOf(write);
    const { sinceMs = now - tookMs, doOthersPass = false } = this.#refused.get(name) ?? {};
    this.#refused.set(name, { resource: write.resource, sinceMs, doOthersPass, message, lastMs: now });
  }

  /** Returns whether the right was missing before. */
  passed(write: WriteRequest): boolean {
    const wasRefused = this.#refused.delete(nameOf(write));
    for (const one of this.#refused.values()) one.doOthersPass = true;
    return wasRefused;
  }

  forgetOld(): void {
    for (const [name, { lastMs }] of this.#refused)
      if (this.#clock.now() - lastMs > forgottenAfterMs) this.#refused.delete(name);
  }

  clear(): void {
    this.#refused.clear();
  }

  get areAnyRefused(): boolean {
    return this.#refused.size > 0;
  }

  doOthersPass(write: WriteRequest): boolean {
    return this.#refused.get(nameOf(write))?.doOthersPass ?? false;
  }

  /** Those without which other writes pass. */
  get missing(): RefusedWrite[] {
    return [...this.#refused.values()].filter(({ doOthersPass }) => doOthersPass);
  }
}

function nameOf({ verb, path }: WriteRequest): string {
  return `${verb} ${path}`;
}
