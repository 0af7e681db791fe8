// What the rig gives the model at each calm point, and what the model answers. Plain JSON only: the model is written from
// DESIGN alone and imports nothing of the house, so that a mistake of the daemon cannot be a mistake of the model too.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** An object as `kubectl get -o json` prints it, with apiVersion and kind. */
export interface PlainObject {
  readonly apiVersion: string;
  readonly kind: PlainKind;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly labels?: { readonly [key: string]: string };
    readonly annotations?: { readonly [key: string]: string };
    readonly ownerReferences?: readonly Json[];
    readonly finalizers?: readonly string[];
    readonly [field: string]: Json | undefined;
  };
  readonly [field: string]: unknown;
}

export type PlainKind = 'Service' | 'Endpoints' | 'EndpointSlice' | 'Secret' | 'ConfigMap' | 'Namespace';
export type PlainSide = 'virtual' | 'host';

/** All objects of the kinds above that one API server holds at one moment, except those of Kubernetes' own namespaces. */
export interface Holding {
  readonly virtual: readonly PlainObject[];
  readonly host: readonly PlainObject[];
}

/** One accepted write of somebody who is not the daemon: a tenant, the host's people, a controller, vCluster. */
export interface Deed {
  readonly side: PlainSide;
  readonly verb: 'create' | 'change' | 'delete';
  /** Undefined for a create. */
  readonly before?: PlainObject;
  /** Undefined for a delete. */
  readonly after?: PlainObject;
  /** Milliseconds on the clock of the rig. */
  readonly atMs: number;
}

export interface InForce {
  /** What the operator has written: all files merged, nothing filled in. */
  readonly configuration: { readonly [key: string]: Json };
  /** Since when, on the clock of the rig; every change of the configuration since the last calm point is one entry. */
  readonly sinceMs: number;
}

/**
 * A calm point: people, faults and configuration have been still for so long that the daemon must have finished. The state
 * follows from the present state of the virtual side, the configuration, and what both sides did since they last agreed.
 */
export interface CalmPoint {
  readonly virtualCluster: string;
  readonly hostNamespace: string;
  /** Oldest first; the last one is in force now. The daemon may have skipped one that was replaced at once. */
  readonly configurations: readonly [InForce, ...InForce[]];
  /** What both sides held at the last calm point; at the first one, what they held before any daemon ran. */
  readonly before: Holding;
  /** What others wrote since then, in the order of the API servers. */
  readonly deeds: readonly Deed[];
  /**
   * What both sides hold now. The model takes from it what nobody can compute: uids, resourceVersions, creation times, who is
   * the incumbent of a contested name, and what others own. It never takes from it what the daemon has to compute.
   */
  readonly now: Holding;
  /** No fault has struck so far: the daemon saw every change at once and in order, or all of them together at its start. */
  readonly hasSeenAll?: boolean;
  /** Times in which no daemon ran: whatever happened in one of them was found together by the next one. */
  readonly absences?: readonly { readonly fromMs: number; readonly toMs: number }[];
  /** A host edit that came meanwhile met one that was half on its way back, and whose other half nobody knew. */
  readonly halfBacks?: readonly HalfBack[];
}

/** From the write to the tenant's object to the one that notes it on the copy, where another process had to find out what had happened. */
export interface HalfBack {
  readonly kind: PlainKind;
  readonly namespace: string;
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A field that the rules leave open. */
export interface OpenField {
  /** From the top of the object: `['metadata', 'annotations', 'hostward.dev/base']`. Everything below the path is open. */
  readonly path: readonly string[];
  /** Every value that the rules allow; absent = any value. */
  readonly values?: readonly Json[];
  /** The field may be missing too. */
  readonly mayLack?: true;
}

export interface ExpectedObject {
  readonly side: PlainSide;
  /**
   * The whole object. The rig compares everything except metadata.uid, resourceVersion, generation, creationTimestamp,
   * managedFields, selfLink and an empty map or list, which is the same as none.
   */
  readonly object: {
    readonly apiVersion: string;
    readonly kind: PlainKind;
    readonly metadata: { readonly namespace: string; readonly name: string; readonly [field: string]: unknown };
    readonly [field: string]: unknown;
  };
  readonly open: readonly OpenField[];
  /** What in `now` is not to be compared, but only to exist, or may be missing as well: default is `must`. */
  readonly exists: 'must' | 'may';
  /** The rules that say so: `DESIGN 3.5`. The rig prints them. */
  readonly because: string;
}

export interface AbsentObject {
  readonly side: PlainSide;
  readonly kind: PlainKind;
  readonly namespace: string;
  readonly name: string;
  readonly because: string;
}

export interface Expectation {
  /**
   * Every object of both sides that may exist, with what must be in it. An object in `now` that is neither here nor in
   * `absent` is a violation too, so objects of other people are listed as they are (`now`, or with what may flow into them).
   */
  readonly objects: readonly ExpectedObject[];
  /** Named only for their reason: whatever is not in `objects` must not exist. */
  readonly absent: readonly AbsentObject[];
}

/** test/rig/model/model.ts exports `expectationOf` of this type. It is pure, and asks neither clock, files nor network. */
export type Model = (point: CalmPoint) => Expectation;
