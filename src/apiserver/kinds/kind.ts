// What a tenant tells the kit about one kind: its names, its schema, what it wants done before an object is kept, how it
// looks in a table. A kind is data with a few functions in it; the kit itself knows none by name.
import type { FieldError } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
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

/** What a strategy gets to know about the request it serves. */
export interface WriteContext {
  user: User;
  /** RFC 3339, whole seconds: one time for the whole request. */
  now: string;
  dryRun: boolean;
  namespace: string;
  /** Lines that the answer carries as `Warning: 299` headers. */
  warn(line: string): void;
}

/** The five things that differ between kinds when one is written; everything else is written once in the kit. */
export interface Strategy {
  /** Runs after decoding, on every write, before anything looks at the object. */
  setDefaults?(object: KubeObject): void;
  prepareForCreate?(object: KubeObject, ctx: WriteContext): void | Promise<void>;
  prepareForUpdate?(object: KubeObject, old: KubeObject, ctx: WriteContext): void | Promise<void>;
  /** What a writer is told about an object that is accepted, whether it changes anything or not. */
  warnings?(object: KubeObject): string[];
  /** Takes what is limited, e.g. an address, once the object is known to be in order. */
  reserve?(object: KubeObject, ctx: WriteContext): void | Promise<void>;
  /** Faults of the object itself; metadata has been checked. `old` is set on updates. */
  validate?(object: KubeObject, old: KubeObject | undefined): FieldError[];
  /**
   * The object as a client may see it, without its hidden fields; its argument stays as it is. Answers, watches, tables,
   * selectors, patches, managedFields and conflicts are made of this form.
   */
  present?(object: KubeObject): KubeObject;
  /** Gives an object the hidden fields of another that it lacks: a client cannot send back what it was not shown. */
  restore?(object: KubeObject, from: KubeObject): void;
  /** What the answer to the create itself shows, e.g. a secret, once. Absent = `present`. */
  presentOnce?(object: KubeObject): KubeObject;
  /** Gives back what reserve took: the create did not happen after all, or the object is gone. */
  released?(object: KubeObject): void;
  /** PUT of a name that does not exist creates it. */
  allowsCreateOnUpdate?: boolean;
  /** metadata.generation counts changes of everything outside metadata and status. */
  countsGenerations?: boolean;
  /** Names of this kind: subdomain unless said otherwise. */
  nameForm?: 'subdomain' | 'label' | 'label1035' | 'pathSegment';
  /** Whether a PUT or patch without subresource leaves `.status` alone. */
  hasStatus?: boolean;
  /** Delete with a grace period: seconds when the request names none; absent = at once. */
  defaultGracePeriodSeconds?(object: KubeObject): number;
  /** A deleted object stays although nothing in its metadata holds it, e.g. finalizers that stand elsewhere. */
  hasPendingWork?(object: KubeObject): boolean;
  /** A delete answers the object instead of a Status. */
  returnsDeletedObject?: boolean;
  /** Marked objects do not say a grace period. */
  hasNoGracePeriod?: boolean;
  /** The object has just been marked as deleted and stays for now. */
  prepareForDelete?(object: KubeObject, ctx: WriteContext): void;
}

export interface Column {
  name: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  format?: string;
  description?: string;
  /** 0 always, 1 with -o wide. */
  priority: number;
  /** `now` is for ages. */
  cell(object: KubeObject, now: Date): string | number | boolean | null;
}

/** A subresource with a name of its own in URLs and discovery. */
export type Subresource =
  /** Verbs on the same object; only these top-level fields (and metadata) are written through it. */
  | { mode: 'part'; writes: readonly string[]; verbs: readonly ('get' | 'patch' | 'update')[] }
  /** POST makes something else out of the object and the body; GET, if given, shows something else. */
  | {
      mode: 'action';
      kind: string;
      group: string;
      version: string;
      /** Of the body; it is decoded and judged like an object. */
      schema: string;
      act: SubresourceAction;
      /** No cache may keep the answer. */
      holdsSecret?: boolean;
    };

export type SubresourceAction = (
  body: KubeObject,
  ctx: WriteContext & { name: string; object: KubeObject | undefined },
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
  /** Name of its definition in the catalog's schemas. */
  schema: string;
  /** Where its objects lie in the store, e.g. `endpoints`; two versions of one kind share it. */
  storage: string;
  /** Between the stored form and this version; absent = they are the same. */
  conversion?: { toStored(object: KubeObject): KubeObject; fromStored(object: KubeObject): KubeObject };
  strategy: Strategy;
  columns: readonly Column[];
  /** Said with every answer about this kind. */
  warnings?: readonly string[];
  subresources?: Readonly<Record<string, Subresource>>;
  /** Field selectors besides metadata.name and metadata.namespace. */
  selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>;
  /** Values by which objects are found without a look at all of them; a field selector of the same name uses its index. */
  indexes?: Readonly<Record<string, (object: KubeObject) => readonly string[]>>;
  /** What a caller may see; absent or undefined = every object. */
  visibleTo?(user: User): Visibility | undefined;
  /** Kinds that are questions: POST is answered and nothing is kept. */
  answer?: SubresourceAction;
  /** No cache may keep what `answer` answers. */
  holdsSecret?: boolean;
}

/** What a validation's Status is about: a kind that is kept as another is judged as that one. */
export function faultSubject(kind: Kind): { group: string; kind: string } {
  return { group: kind.conversion === undefined ? kind.group : '', kind: kind.kind };
}

/** Schemas by name, as data. */
export type Schemas = Readonly<Record<string, Schema>>;

export function groupVersionOf(kind: Pick<Kind, 'group' | 'version'>): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}
