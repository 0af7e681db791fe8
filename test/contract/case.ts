// What a contract case looks like in fixtures/contract/*.yaml: a claim and the steps that show it.

/** Exactly one of the verbs, and what belongs to it. */
export interface Step {
  GET?: string;
  HEAD?: string;
  POST?: string;
  PUT?: string;
  PATCH?: string;
  DELETE?: string;
  OPTIONS?: string;
  /** Opens a watch under a name (`as`). */
  WATCH?: string;
  /** Takes `count` events of the watch of that name, or all up to and with the first BOOKMARK. */
  events?: string;
  /** The watch of that name ends by itself; events that come before are part of the answer. */
  ends?: string;
  /** Forgets the history up to now; cases with it are skipped where the server cannot be told to. */
  compact?: boolean;
  /** Posts `body` to this path `count` times, `$i` counting from 0 in three digits; the answers are not compared. */
  many?: string;

  body?: unknown;
  /** A body of bytes. */
  base64?: string;
  /** Form of the patch, or the name of a watch. */
  as?: string;
  accept?: string;
  contentType?: string;
  headers?: Record<string, string>;
  /** `stranger` and `none` have their meaning, anything else is sent as it stands. */
  token?: string;
  /** The status; 201 for POST and 200 otherwise unless it says so. */
  is?: number;
  count?: number;
  /** Values of the answer to remember: `$name` in later steps. */
  save?: Record<string, string>;
  /** Parts of the answer that count; all of it without. Paths as in `save`. */
  only?: string[];
  /** managedFields is left out of the comparison unless this says otherwise. */
  managedFields?: boolean;
}

export interface Case {
  name: string;
  steps: Step[];
}

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export const patchTypes: Record<string, string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export const acceptTypes: Record<string, string> = {
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  metadata: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
  metadataList: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
};
