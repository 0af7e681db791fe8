// Reads, creates, replaces and releases the Lease object of the API server, and parses its spec. lease.ts decides who holds the
// lease and until when.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Answer } from '../answer.ts';
import type { Connection } from '../wire/connection.ts';
import { collectionPath, leasesResource, objectPath } from '../wire/scope.ts';

export interface LeaseRecord {
  holderIdentity: string;
  acquireTime: string | undefined;
  renewTime: string | undefined;
  leaseTransitions: number;
  leaseDurationSeconds: number;
}

/** A lease as it was last read, `sinceMs` for the first time in this state. */
export interface SeenLease {
  lease: KubeObject;
  resourceVersion: string;
  record: LeaseRecord;
  sinceMs: number;
  /** The lease was deleted; its holder may not have noticed. */
  isGone: boolean;
}

/** A server that does not answer must not delay the stop for long. */
export const releaseTimeoutMs = 1_500;

interface LeaseRequestLimits {
  timeoutMs: number;
  signal?: AbortSignal;
}

export class LeaseObject {
  readonly #connection: Connection;
  readonly #namespace: string;
  readonly #name: string;

  constructor({ connection, namespace, name }: { connection: Connection; namespace: string; name: string }) {
    this.#connection = connection;
    this.#namespace = namespace;
    this.#name = name;
  }

  read(limits: LeaseRequestLimits): Promise<Answer> {
    return this.#connection.request({ method: 'GET', path: this.#path(), ...limits });
  }

  create(spec: object, limits: LeaseRequestLimits): Promise<Answer> {
    const metadata = { name: this.#name, namespace: this.#namespace };
    return this.#connection.request({
      method: 'POST',
      path: collectionPath(leasesResource, this.#namespace),
      body: JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }),
      contentType: 'application/json',
      ...limits,
    });
  }

  /**
   * A PUT, because Roles for leader election allow get, create and update, but not patch. The body carries the uid, because
   * an update may create a Lease, and a deleted Lease must not come back with its old holder.
   */
  replace(known: KubeObject, spec: object, limits: LeaseRequestLimits): Promise<Answer> {
    return this.#connection.request({
      method: 'PUT',
      path: this.#path(),
      body: JSON.stringify({ ...known, spec: { ...(known['spec'] as object), ...spec } }),
      contentType: 'application/json',
      ...limits,
    });
  }

  /** Tries twice, because a renewal that the stop aborted may have changed the version. Returns the failure, if any. */
  async release(
    known: KubeObject | undefined,
    { identity, now }: { identity: string; now: string },
  ): Promise<string | undefined> {
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: now };
    const limits = { timeoutMs: releaseTimeoutMs };
    let lease = known;
    if (lease === undefined) {
      const read = await this.read(limits);
      if (read.kind !== 'ok') return messageOfAnswer(read);
      if (recordOf(read.object).holderIdentity !== identity) return 'it was not won';
      lease = read.object;
    }
    for (let attempt = 1; ; attempt++) {
      const answer = await this.replace(lease, spec, limits);
      if (answer.kind === 'ok') return undefined;
      const isMoved = answer.kind === 'conflict' && attempt === 1;
      const read = isMoved ? await this.read(limits) : answer;
      const isStillOurs = read.kind === 'ok' && recordOf(read.object).holderIdentity === identity;
      if (!isStillOurs) return messageOfAnswer(answer);
      lease = read.object;
    }
  }

  #path(): string {
    return objectPath(leasesResource, { namespace: this.#namespace, name: this.#name });
  }
}

export function recordOf(lease: KubeObject): LeaseRecord {
  const spec = (lease['spec'] ?? {}) as Partial<{ [field in keyof LeaseRecord]: unknown }>;
  return {
    holderIdentity: typeof spec.holderIdentity === 'string' ? spec.holderIdentity : '',
    acquireTime: typeof spec.acquireTime === 'string' ? spec.acquireTime : undefined,
    renewTime: typeof spec.renewTime === 'string' ? spec.renewTime : undefined,
    leaseTransitions: typeof spec.leaseTransitions === 'number' ? spec.leaseTransitions : 0,
    leaseDurationSeconds: typeof spec.leaseDurationSeconds === 'number' ? spec.leaseDurationSeconds : 0,
  };
}

export function messageOfAnswer(answer: Exclude<Answer, { kind: 'ok' }>): string {
  return answer.kind === 'notSent' ? 'the request was not sent' : answer.message;
}

/** The MicroTime format of Kubernetes. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
