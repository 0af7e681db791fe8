// Counts requests by verb, resource, namespace, user and status code. Tests and the demo count writes here because the server
// misses no request. The counts live as long as the server, so clients must not be able to grow them: see WordTrust.
import type { Target, Verb } from './target.ts';

export interface RequestRecord {
  verb: Verb;
  group: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  path: string;
  /** The sender; a request that ran as another user also has `impersonatedUser`. */
  user: string;
  impersonatedUser?: string;
  userAgent: string;
  code: number;
  durationMs: number;
}

export interface RequestFilter {
  verbs?: readonly Verb[];
  resource?: string;
  namespace?: string;
  user?: string;
  /** Only answers below 400. */
  succeeded?: boolean;
}

/** Which words of a request the journal may remember; the other words count as `other`. */
export interface WordTrust {
  /** The server serves this resource; the number of served resources is small. */
  isServed: boolean;
  /** The user has the right, so a stranger cannot invent namespace names. */
  isAllowed: boolean;
}

/** Replaces a word that the journal must not remember. */
const otherLabel = 'other';

/** More combinations than the kinds, namespaces and clients of a test or a demo have; at 300 bytes each half a megabyte. */
const countsMax = 2_000;
/** The longest valid namespace name. */
const namespaceLengthMax = 63;

type Counted = Pick<RequestRecord, 'verb' | 'resource' | 'namespace' | 'user' | 'code'>;

export class RequestJournal {
  /** Keyed by JSON of the counted words: a fresh string, because a slice of the URL would keep the whole URL in memory. */
  #counts = new Map<string, number>();
  #listeners = new Set<(record: RequestRecord) => void>();

  add(record: RequestRecord, trust: WordTrust): void {
    const counted = labelsOf(record, trust);
    let key = JSON.stringify(counted);
    if (!this.#counts.has(key) && this.#counts.size >= countsMax) {
      const { verb, code } = record;
      key = JSON.stringify({ verb, resource: otherLabel, namespace: otherLabel, user: otherLabel, code });
    }
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    for (const listener of this.#listeners) listener(record);
  }

  /** Number of remembered combinations. */
  get size(): number {
    return this.#counts.size;
  }

  /** Number of answered requests that match the filter; a watch counts when it ends. */
  count(filter: RequestFilter = {}): number {
    let sum = 0;
    for (const [key, count] of this.#counts) if (fits(JSON.parse(key) as Counted, filter)) sum += count;
    return sum;
  }

  clear(): void {
    this.#counts.clear();
  }

  subscribe(listener: (record: RequestRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

function labelsOf(
  { verb, resource, namespace, user, code }: RequestRecord,
  { isServed, isAllowed }: WordTrust,
): Counted {
  const isKept = isServed && isAllowed && namespace.length <= namespaceLengthMax;
  return {
    verb,
    resource: isServed || resource === '' ? resource : otherLabel,
    namespace: isKept || namespace === '' ? namespace : otherLabel,
    user,
    code,
  };
}

function fits(record: Counted, filter: RequestFilter): boolean {
  if (filter.verbs !== undefined && !filter.verbs.includes(record.verb)) return false;
  if (filter.resource !== undefined && filter.resource !== record.resource) return false;
  if (filter.namespace !== undefined && filter.namespace !== record.namespace) return false;
  if (filter.user !== undefined && filter.user !== record.user) return false;
  return filter.succeeded !== true || record.code < 400;
}

export function recordOf(
  target: Target,
  answered: Pick<RequestRecord, 'user' | 'impersonatedUser' | 'userAgent' | 'code' | 'durationMs'>,
): RequestRecord {
  const { verb, group, resource, subresource, namespace, name, path } = target;
  return { verb, group, resource, subresource, namespace, name, path, ...answered };
}
