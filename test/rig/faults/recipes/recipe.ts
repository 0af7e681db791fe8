// The form of a recipe: a fault class as data, with the verbs that it strikes and the time after which everything must be well again. What its effect
// does is in ../effects.ts.

import type { RigCertificates } from '../../stage/rig-certificates.ts';
import type { RigSide } from '../../stage/rig-cluster.ts';
import type { EffectName } from '../effects.ts';
import type { FaultVerb } from '../placed.ts';

export interface Recipe {
  class: string;
  name: string;
  effect: EffectName;
  verbs: readonly FaultVerb[];
  sides?: readonly RigSide[];
  /** Drawn from these. */
  times?: readonly number[];
  ms?: readonly number[];
  size?: readonly number[];
  status?: number;
  text?: string;
  message?: string;
  /** What the server shows instead of its own. */
  certificate?: Exclude<keyof RigCertificates, 'good'>;
  headers?: Readonly<Record<string, string>>;
  /** Drawn so many times as often as another place of its class, because it matters in few scenarios; default 1. */
  weight?: number;
  /** The scene in which it matters, by the name of its object: there it is drawn eight times as often. */
  scene?: string;
  /** After the end of the fault everything is as it would be without it, within this time. */
  boundMs: number;
}

export const everything: readonly FaultVerb[] = ['list', 'watch', 'create', 'update', 'delete', 'lease'];
export const requests: readonly FaultVerb[] = ['list', 'create', 'update', 'delete', 'lease'];
export const writes: readonly FaultVerb[] = ['create', 'update', 'delete'];
export const reads: readonly FaultVerb[] = ['list', 'watch'];

/** A retry of a queue, or of a reflector, after few failures. */
export const soonMs = 5_000;
/** A proof of the caches comes once a minute, and believes a difference that stands for five seconds. */
export const proofMs = 65_000;
/** The next try of a write that has failed often: a minute, and by chance half as much again. */
export const backOffMs = 92_000;
/** Back-off at its longest, and a proof. */
export const lateMs = 130_000;
