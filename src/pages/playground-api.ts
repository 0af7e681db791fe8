// The words that the page and the server of the playground exchange. Types and limits only: the browser loads this file too.
import type { DiffLine } from '../object/text/line-diff.ts';

/** The texts of a case, as files of a folder that `hostward test` reads. Empty texts are missing files. */
export interface PlaygroundCase {
  /** A whole configuration, or only a list of patches. */
  config: string;
  /** Endpoints or EndpointSlices of the tenant, and Services where they matter. */
  virtual: string;
  /** Copies on the host before the write, for patches that look at them. */
  hostBefore?: string;
  /** Copies on the host after somebody edited them there. */
  hostEdited?: string;
}

export type TextName = keyof PlaygroundCase;

export const textNames: readonly TextName[] = ['config', 'virtual', 'hostBefore', 'hostEdited'];

/** A mistake or a warning, and its place. */
export interface Mark {
  text: TextName;
  severity: 'fault' | 'warning';
  /** Both count from 1; columns count UTF-16 units. */
  line: number;
  column: number;
  message: string;
  code: string;
}

export interface ChangedObject {
  /** Its kind, and the names on both sides. */
  name: string;
  lines: readonly DiffLine[];
  /** Lines that were left out of a long object. */
  more: number;
}

export interface PatchMatch {
  at: string;
  before: unknown;
  after?: unknown;
  error?: string;
}

export interface PatchReport {
  /** The list of the configuration, and the place in it. */
  list: string;
  patch: number;
  path: string;
  object: string;
  tookMs: number;
  /** Why it was not tried. */
  notTried?: string | undefined;
  /** Why its path matches nothing in this object, where that is known. */
  whyNone?: string | undefined;
  matches: readonly PatchMatch[];
  /** Matches that were left out. */
  more: number;
}

/** One way of the objects: to the host, or back to the tenant. */
export interface Way {
  objects: readonly ChangedObject[];
  patches: readonly PatchReport[];
  /** What `hostward render` prints: the objects, and the messages about those that are not written. */
  output: string;
  messages: readonly string[];
  /** The messages without a mark. */
  notes: readonly string[];
}

export interface RoundTrip {
  list: string;
  patch: number;
  path: string;
  /** Undefined when every sample came back as it was. */
  problem: string | undefined;
}

export interface RenderAnswer {
  /** The patches as a whole configuration. */
  config: string;
  /** Of the faults that leave nothing to render, and of all others. */
  marks: readonly Mark[];
  /** Undefined when a fault leaves nothing to render. */
  forward: Way | undefined;
  /** Undefined without an edited host object too. */
  back: Way | undefined;
  /** For each patch with a way back. */
  roundTrips: readonly RoundTrip[];
  tookMs: number;
}

/** What the server evaluates. The body of `eval` is a line of `hostward eval --stdin`. */
export type EvaluationKind = 'render' | 'test' | 'eval';

/** Files of a case by name, and whether missing and wrong expected files are to be written. */
export interface TestRequest {
  files: Record<string, string>;
  update?: boolean;
}

export interface TestAnswer {
  /** Empty when the case passed. */
  problems: readonly { what: string; text: string }[];
  updated: readonly string[];
  /** All files of the case afterwards. */
  files: Record<string, string>;
}

export type Evaluated =
  | { kind: 'answer'; json: string }
  /** Too many evaluations wait already. */
  | { kind: 'busy' }
  /** The request itself is wrong, or its evaluation failed. */
  | { kind: 'wrong' | 'failed'; message: string };

/** Evaluates the body of a request, away from everything else that the process does. */
export type Evaluate = (kind: EvaluationKind, body: string) => Promise<Evaluated>;

export const playgroundLimits = {
  /** Bytes of a request: far more than a person reads, and one evaluation of it stays below the time limit. */
  bodyBytes: 262_144,
  /** The whole time of one evaluation. A person who types does not wait longer. */
  evaluationMs: 2_000,
  /** Of it the time for trying expressions on samples, which comes last. */
  samplesMs: 1_000,
  /** Evaluations that wait for their turn. A page has one on its way, so this is a few open pages. */
  waiting: 8,
  /** The process ends after this time without an evaluation. */
  idleMs: 60_000,
  /** Lines and matches that are shown; a page with more is slow to draw, and nobody reads them. */
  shownLines: 4_000,
  shownMatches: 100,
} as const;
