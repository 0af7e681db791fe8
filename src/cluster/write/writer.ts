// Changes one cluster, and is the only thing that does: bounded in flight, adapting to 429 and latency, never without the
// permit that is asked for at the very moment of sending. Order per key is the caller's: it awaits one write before the next.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Answer } from '../answer.ts';
import type { ResourceRef } from '../wire/scope.ts';

export interface Preconditions {
  uid: string;
  resourceVersion?: string;
}

export interface Writer {
  /** A read, never through the cache; not counted as a write. */
  get(ref: ResourceRef, place: { namespace: string; name: string }): Promise<Answer>;
  create(ref: ResourceRef, object: KubeObject): Promise<Answer>;
  /** JSON merge patch; the caller puts metadata.uid and metadata.resourceVersion into it. */
  patch(ref: ResourceRef, place: { namespace: string; name: string }, mergePatch: object): Promise<Answer>;
  remove(ref: ResourceRef, place: { namespace: string; name: string }, preconditions: Preconditions): Promise<Answer>;
  /** Nothing new is sent; what is in flight may finish within `withinMs`, then it is aborted. */
  stop(withinMs: number): Promise<void>;
  readonly inFlight: number;
}
