// The interface between a tenant and the kit: a Kind describes names, schema, write rules (Strategy) and table columns.
// A kind is data with a few functions. The kit must never contain the name of a kind.
import type { FieldError } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Status } from '../../object/meta/status.ts';
import type { User, Visibility } from '../request/identity.ts';
import type { Schema } from './schema.ts';

export type StoredVerb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

export const allVerbs: readonly StoredVerb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** The facts about a request that a strategy may use. */
export interface WriteContext {
  user: User;
  /** RFC 3339, whole seconds. All timestamps of one request agree because they use this one. */
  now: string;
  dryRun: boolean;
  namespace: string;
  /** The body of a PUT as the client sent it, which tells null from absent. Undefined for a patch: there absent is removed. */
  sent?: unknown;
  /** What a PUT, a merged patch or an apply says, as the client sent it. */
  stated?: unknown;
  /** Adds a `Warning: 299` header to the answer. */
  warn(line: string): void;
  /** Goes into the audit record of the request, e.g. the id of what was made. Absent where nothing is audited. */
  note?(text: string): void;
  /** Names what was made or changed in the audit record. Absent where nothing is audited. */
  wrote?(written: WrittenText): void;
}

/** Something that a request made, changed or deleted. */
export interface WrittenText {
  kind: string;
  /** The object as it is stored. */
  text: string;
}

/** One create or update on its way through the hooks of a kind. */
export interface ObjectWrite<Facts = unknown> extends WriteContext {
  readonly object: KubeObject;
  /** The object as it is stored; undefined = it is being created. */
  readonly old: KubeObject | undefined;
  /** What one hook of the kind has found out, for the later ones. */
  facts?: Facts;
}

/** An update. */
export interface ObjectUpdate<Facts = unknown> extends ObjectWrite<Facts> {
  readonly old: KubeObject;
  /** Set by the kind: bytes that this update may have beyond the limit of an object. */
  spareBytes?: number;
}

/** The write rules that differ between kinds; the kit implements all common rules once. */
export interface Strategy {
  /** Runs after decoding, on every write, before any other rule reads the object. */
  setDefaults?(object: KubeObject): void;
  prepareForCreate?(write: ObjectWrite): void | Promise<void>;
  prepareForUpdate?(write: ObjectUpdate): void | Promise<void>;
  /** Whether it matters who says again what the object says already; absent = never, and such a write changes nothing. */
  hearsRepeat?(old: KubeObject, user: User): boolean;
  /** Warnings about an accepted object; also returned when the write changes nothing. */
  warnings?(object: KubeObject): string[];
  /** Validates everything except metadata, which the kit validates. */
  validate?(write: ObjectWrite): FieldError[];
  /** Limited resources that an object takes, such as addresses; absent = none. */
  resources?: LimitedResources;
  /** Fields that are stored and not shown; absent = none. */
  hidden?: FieldHiding;
  deletion?: DeletionRules;
  /** PUT creates a missing object. */
  allowsCreateOnUpdate?: boolean;
  /** metadata.generation counts changes outside metadata and status. */
  countsGenerations?: boolean | 'withLabels';
  /** Syntax of names; default `subdomain`. */
  nameForm?: 'subdomain' | 'label' | 'label1035' | 'pathSegment';
  /** A PUT or patch without subresource does not change `.status`. */
  hasStatus?: boolean;
}

export interface LimitedResources {
  /** Runs after validation, so that a refused object takes nothing. */
  reserve(write: ObjectWrite): void | Promise<void>;
  /** Returns what `reserve` took, after a failed create or after the object's end. */
  release(object: KubeObject): void;
}

export interface FieldHiding {
  /**
   * Returns a copy without the hidden fields and leaves the argument unchanged. Answers, watches, tables, selectors, patches,
   * managedFields and conflicts all use this form, so a hidden value cannot leak through any of them.
   */
  present(object: KubeObject): KubeObject;
  /** The same for a stored text, without parsing the whole of it: pages have hundreds of texts. Undefined = it has to be parsed. */
  presentText?(text: string): string | undefined;
  /** Copies missing hidden fields from `from` into `object`: a client cannot send back a field that it never received. */
  restore?(object: KubeObject, from: KubeObject): void;
  /** The form in the answer to the create itself, e.g. with a secret that is shown only once, and what is said about it. */
  once?(write: ObjectWrite): { object: KubeObject; warning?: string };
}

export interface DeletionRules {
  /** Grace period in seconds when a delete gives no grace period; absent = the kind has no grace period. */
  gracePeriodSeconds?(object: KubeObject): number;
  /** Keeps a deleted object that has no finalizer in its metadata, e.g. a Namespace with `spec.finalizers`. */
  hasPendingWork?(object: KubeObject): boolean;
  /** Runs when the object gets its deletionTimestamp and is not removed yet. */
  prepare?(object: KubeObject): void;
  /** A delete answers the object instead of a Status. */
  returnsObject?: boolean;
  /** Objects with a deletionTimestamp get no deletionGracePeriodSeconds. */
  hasNoGracePeriod?: boolean;
}

export interface Column {
  name: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  format?: string;
  description?: string;
  /** 0 = always shown, 1 = shown with `-o wide`. */
  priority: number;
  cell(object: KubeObject, now: Date): string | number | boolean | null;
}

/** One subresource, e.g. `status` or `token`. */
export type Subresource =
  /** Reads and writes the same object, but writes only these top-level fields and metadata. */
  | { mode: 'part'; writes: readonly string[]; verbs: readonly ('get' | 'patch' | 'update')[] }
  /** POST computes an answer from the object and the body. */
  | {
      mode: 'action';
      kind: string;
      group: string;
      version: string;
      /** Schema of the body, which is decoded and validated like an object. */
      schema: string;
      act: SubresourceAction;
      /** The answer carries `Cache-Control: no-store`. */
      holdsSecret?: boolean;
    };

export type SubresourceAction = (
  body: KubeObject,
  ctx: WriteContext & {
    name: string;
    object: KubeObject | undefined;
    /** Adds a sentence to the record of the request in the audit log. */
    note(text: string): void;
    /** Why the sender's credential does not hold any more, to be asked when an action has waited; undefined = it does. */
    ended(): Status | undefined;
  },
) => KubeObject | Promise<KubeObject>;

export interface Kind {
  group: string;
  version: string;
  kind: string;
  plural: string;
  singular: string;
  shortNames?: readonly string[];
  categories?: readonly string[];
  namespaced: boolean;
  verbs: readonly string[];
  /** Name of the definition in the catalog's schemas. */
  schema: string;
  /** Segment of the store key, e.g. `endpoints`; two versions of one kind share the segment. */
  storage: string;
  /** Converts between the stored form and this version; absent = the two forms are equal. */
  conversion?: { toStored(object: KubeObject): KubeObject; fromStored(object: KubeObject): KubeObject };
  strategy: Strategy;
  columns: readonly Column[];
  /** Warnings in every answer about this kind. */
  warnings?: readonly string[];
  subresources?: Readonly<Record<string, Subresource>>;
  /** Field selectors besides metadata.name and metadata.namespace. */
  selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>;
  /** Index values of an object, so that a list need not read every object; a field selector of the same name uses the index. */
  indexes?: Readonly<Record<string, (object: KubeObject) => readonly string[]>>;
  /** Limits the objects that a caller may see; absent or undefined = every object. */
  visibleTo?(user: User): Visibility | undefined;
  /** For review kinds: computes the answer to a POST; the server stores nothing. */
  answer?: SubresourceAction;
  /** Largest body in bytes that this caller may send; absent or undefined = as for every kind of the server. */
  bodyBytes?(user: User): number | undefined;
  /** Time between two bookmarks of a watch; absent = as for every kind of the server. */
  bookmarkIntervalMs?: number;
  /** Answers of `answer` carry `Cache-Control: no-store`. */
  holdsSecret?: boolean;
}

/** Group and kind in the Status of a validation fault: a converted kind is validated in its stored form, in the core group. */
export function faultSubject(kind: Kind): { group: string; kind: string } {
  return { group: kind.conversion === undefined ? kind.group : '', kind: kind.kind };
}

/** Schemas by name, as data. */
export type Schemas = Readonly<Record<string, Schema>>;

export function groupVersionOf(kind: Pick<Kind, 'group' | 'version'>): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}
