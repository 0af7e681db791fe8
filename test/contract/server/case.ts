// The form of a contract case in fixtures/contract/*.yaml: a claim and the steps that prove it.

/** A step: exactly one of the verbs, with its parameters. */
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
  /** Takes `count` events from the watch of that name, or all events until the first BOOKMARK, including it. */
  events?: string;
  /** Waits until the watch of that name ends by itself; the events before are part of the answer. */
  ends?: string;
  /** Compacts the history; cases with it are skipped for servers that cannot be told to. */
  compact?: boolean;
  /** Posts `body` to this path `count` times, with `$i` as a counter of three digits from 0. Answers are not compared. */
  many?: string;

  body?: unknown;
  /** A body of bytes, in base64. */
  base64?: string;
  /** Form of the patch, or the name of a watch. */
  as?: string;
  accept?: string;
  contentType?: string;
  headers?: Record<string, string | string[]>;
  /** `stranger`, `none`, or the text of a token. */
  token?: string;
  /** Repeats the request until its status is the expected one: a real server learns of new roles a moment later. */
  eventually?: boolean;
  /** The expected status; by default 201 for POST and 200 otherwise. */
  is?: number;
  count?: number;
  /** Values of the answer to remember: `$name` in later steps. */
  save?: Record<string, string>;
  /** The paths of the answer to compare, as in `save`; without it the whole answer. */
  only?: string[];
  /** Whether managedFields is part of the comparison. */
  managedFields?: boolean;
}

export interface Case {
  name: string;
  steps: Step[];
}

export function statusOf(step: Step): number {
  return step.is ?? (step.POST === undefined ? 200 : 201);
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
