// Reads the scopes of keys when they are asked for, and keeps those that were used last. A scope takes up to fifteen times the memory
// of its text; the quota of stored keys counts texts, so the memory of all keys must not hold scopes that nobody uses.
import { isRecord } from '../../../object/text/json.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import type { Scope } from '../../scope/scope.ts';

export interface ReadScope {
  scope: Scope;
  /** As in the object. */
  value: Record<string, unknown>;
}

/** Thousands of ordinary scopes, or thirty of the longest; at most 16 MiB when read. */
const mostChars = 1024 * 1024;

export class RecentScopes {
  readonly #mostChars: number;
  /** By text; the longest unused one is first. */
  readonly #read = new Map<string, ReadScope>();
  #chars = 0;

  constructor(most = mostChars) {
    this.#mostChars = most;
  }

  get chars(): number {
    return this.#chars;
  }

  of(text: string): ReadScope {
    const known = this.#read.get(text);
    if (known === undefined) return this.#keep(text, read(text));
    this.#read.delete(text);
    this.#read.set(text, known);
    return known;
  }

  #keep(text: string, scope: ReadScope): ReadScope {
    this.#read.set(text, scope);
    this.#chars += text.length;
    for (const oldest of this.#read.keys()) {
      if (this.#chars <= this.#mostChars) break;
      this.#read.delete(oldest);
      this.#chars -= oldest.length;
    }
    return scope;
  }
}

/** The scope of one key. */
export class KeyScope {
  readonly text: string;
  readonly #recent: RecentScopes;

  constructor(text: string, recent: RecentScopes) {
    this.text = text;
    this.#recent = recent;
  }

  get scope(): Scope {
    return this.#recent.of(this.text).scope;
  }

  /** As in the object. */
  get value(): Record<string, unknown> {
    return this.#recent.of(this.text).value;
  }
}

function read(text: string): ReadScope {
  const value: unknown = JSON.parse(text);
  // A scope that is no object has no entries, and allows as little as an empty one.
  return { scope: parseScope(value).scope, value: isRecord(value) ? value : {} };
}
