// The words between looking, deciding and doing: what is known of one key, what may be asked for next, and how a pass can
// end. Values only.
import type { Preconditions } from '../../cluster/write/writer.ts';
import type { Key, KubeObject, OwnerReference } from '../../object/meta/object.ts';
import type { AddressRefusal } from './address-policy.ts';
import type { Agreement } from './base.ts';
import type { Draft } from './draft.ts';
import type { HostItem, HostServiceItem, ServiceItem, Verdict, VirtualItem } from './kind.ts';
import type { OwnerState } from './owner.ts';
import type { Place } from './placement.ts';

/** Virtual spelling → value for the virtual object, null to remove. */
export interface BackValues {
  labels: Map<string, string | null>;
  annotations: Map<string, string | null>;
}

/** For people: which entry, where it matched, what went wrong. Never a whole value, it may be a secret. */
export interface PatchFailure {
  /** Undefined where the result of all patches is wrong and none of them can be named. */
  patch?: number;
  path?: string;
  at: string;
  class: string;
  message: string;
  position?: { line: number; column: number };
  /** Where in the configuration the expression says so. */
  source?: string;
  /** It may be another's fault, or the machine's: after which to try again. */
  retryAfterMs?: number;
}

export interface Facts {
  key: Key;
  virtual: VirtualItem | undefined;
  service: ServiceItem | undefined;
  place: Place | undefined;
  /** Whether it belongs on the host at all. */
  verdict: Verdict;
  host: HostItem | undefined;
  /** The Service at that place, where Services of the host are watched: in namespaces that are mapped. */
  hostService?: HostServiceItem | undefined;
  /** Host objects of ours for this key at places where it no longer belongs; namespace-mapping mode only. */
  strays: readonly HostItem[];
  /** The key that may hold the host name when several claim it; undefined when nobody else does. */
  winner: Key | undefined;
  owner: OwnerState;
  /** Addresses of the draft that the policy refuses. */
  refusals: readonly AddressRefusal[];
  /** Translated and patched. */
  draft: Draft | undefined;
  /** Why the draft must not be used, or a host edit not taken back: a patch failed and wants its object left alone. */
  patchFailure: PatchFailure | undefined;
  /** A patch failed, and by its policy the draft is used without it. */
  patchLapse?: PatchFailure | undefined;
  /** What stands behind the names that the draft holds, as one text; undefined without references. */
  resolution?: string;
  /** Values on their way back to the tenant, after the reverse expressions; undefined until there are any. */
  reversed: BackValues | undefined;
  /** A list looked too empty to be believed; nothing may be deleted on its word yet. */
  isDeleteWithheld: boolean;
  ignoreOrder: boolean;
  /** A back-flow that only removes labels is held until the virtual Services are known to be newer than the host. */
  mayRemoveLabelsBack: boolean;
  /** Both sides have been answering each other too often: so long nothing flows back, while the host is served as ever. */
  backFlowWaitMs: number;
}

/** uid and resourceVersion make a late patch of a deleted or changed object fail instead of resurrecting it. */
export interface HostMergePatch {
  metadata: {
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string | null>;
    annotations?: Record<string, string | null>;
    ownerReferences?: OwnerReference[];
  };
  [member: string]: unknown;
}

export type PlannedRequest =
  | { side: 'host'; verb: 'create'; object: KubeObject; reason: string }
  | {
      side: 'host';
      verb: 'patch';
      place: Place;
      mergePatch: HostMergePatch;
      reason: string;
      touches: string[];
      conflicts: number;
    }
  | { side: 'host'; verb: 'remove'; place: Place; preconditions: Preconditions; reason: string }
  | { side: 'host'; verb: 'get'; what: 'object' | 'service'; place: Place }
  | {
      side: 'virtual';
      verb: 'patch';
      place: Place;
      mergePatch: object;
      reason: string;
      back: BackValues;
      /** What both sides hold once this is done; the base says so only after the host write that follows. */
      agreed: Agreement;
    }
  | { side: 'virtual'; verb: 'get'; place: Place };

export type WaitReason =
  | 'OwnerMissing'
  | 'HostNamespaceMissing'
  | 'HostDeleting'
  | 'HostNameBusy'
  | 'DeleteWithheld'
  | 'BackFlowHeld'
  | 'Contested';
export type RefuseReason =
  | 'HostNameTaken'
  | 'NotOwned'
  | 'NameCollision'
  | 'AddressRefused'
  | 'HostRefused'
  | 'Forbidden'
  | 'PatchFailed';
export type LeaveReason = 'Paused' | 'ControlledByOther' | 'KeptByHost' | 'NotOurs' | 'DryRun';

export type Outcome =
  | { kind: 'inSync' }
  | { kind: 'ineligible'; reason: string; message: string }
  | { kind: 'refused'; reason: RefuseReason; message: string; detail?: string; failure?: PatchFailure }
  | { kind: 'waiting'; reason: WaitReason; message: string; retryAfterMs?: number; wakes?: Key }
  /** Somebody on the host asked us to keep our hands off, or it is not ours to take away. */
  | { kind: 'left'; reason: LeaveReason; message: string }
  | { kind: 'retry'; message: string; retryAfterMs?: number | undefined };

export interface RequestStep {
  kind: 'request';
  request: PlannedRequest;
  /** Once the host holds exactly what is requested, the key is in sync. */
  isLast: boolean;
}

export type PlanStep = RequestStep | { kind: 'done'; outcome: Outcome };

/** What one pass over a key remembers between its requests. */
export interface Memory {
  hostService: { known: false } | { known: true; service: HostServiceItem | undefined };
  mustRead: 'host' | 'virtual' | undefined;
  conflicts: number;
  /** Edits of the host that have reached the virtual side in this pass: a further edit there is one on top of them. */
  agreed: Agreement | undefined;
  /** An answer that ends the pass. */
  end: Outcome | undefined;
}

export function freshMemory(): Memory {
  return { hostService: { known: false }, mustRead: undefined, conflicts: 0, agreed: undefined, end: undefined };
}

/** A write that the pass wanted when it ended, and what the pass remembered by then. */
export interface HeldWrite {
  request: PlannedRequest;
  memory: Memory;
}

/** A write that makes or changes the host copy. */
export type HostWrite = Extract<PlannedRequest, { side: 'host'; verb: 'create' | 'patch' }>;

export function isHostWrite(request: PlannedRequest): request is HostWrite {
  return request.side === 'host' && (request.verb === 'create' || request.verb === 'patch');
}

export function ask(request: PlannedRequest, { isLast = false } = {}): PlanStep {
  return { kind: 'request', request, isLast };
}

export function done(outcome: Outcome): PlanStep {
  return { kind: 'done', outcome };
}
