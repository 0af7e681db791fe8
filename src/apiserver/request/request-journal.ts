// What this server was asked for, as numbers: tests and the demo count writes here, at the server, where nothing is missed.
import type { Target, Verb } from './target.ts';

export interface RequestRecord {
  verb: Verb;
  group: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  path: string;
  user: string;
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

export class RequestJournal {
  /** By verb, resource, namespace, user and outcome: as many as there are kinds and clients, not as there are requests. */
  #counts = new Map<string, { record: Omit<RequestRecord, 'durationMs'>; count: number }>();
  #listeners = new Set<(record: RequestRecord) => void>();

  add(record: RequestRecord): void {
    const { verb, resource, namespace, user, code } = record;
    const key = `${verb} ${resource} ${namespace} ${user} ${code}`;
    const known = this.#counts.get(key);
    if (known !== undefined) known.count += 1;
    else this.#counts.set(key, { record, count: 1 });
    for (const listener of this.#listeners) listener(record);
  }

  /** Answered requests that fit; a watch counts when it ends. */
  count(filter: RequestFilter = {}): number {
    let sum = 0;
    for (const { record, count } of this.#counts.values()) if (fits(record, filter)) sum += count;
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

function fits(record: Omit<RequestRecord, 'durationMs'>, filter: RequestFilter): boolean {
  if (filter.verbs !== undefined && !filter.verbs.includes(record.verb)) return false;
  if (filter.resource !== undefined && filter.resource !== record.resource) return false;
  if (filter.namespace !== undefined && filter.namespace !== record.namespace) return false;
  if (filter.user !== undefined && filter.user !== record.user) return false;
  return filter.succeeded !== true || record.code < 400;
}

export function recordOf(
  target: Target,
  answered: { user: string; userAgent: string; code: number; durationMs: number },
): RequestRecord {
  const { verb, group, resource, subresource, namespace, name, path } = target;
  return { verb, group, resource, subresource, namespace, name, path, ...answered };
}
