// One row of the settings table: where a setting stands, what it may be, what it is when no file says, and a sentence.
import type { Settings } from './settings.ts';
import type { TextRule } from './text-rules.ts';

export type Shape =
  | { kind: 'boolean' }
  | { kind: 'text'; rule: TextRule }
  | { kind: 'choice'; of: readonly string[] }
  | { kind: 'number'; above: number }
  | { kind: 'integer'; from: number; to: number }
  | { kind: 'texts'; rule: TextRule }
  | { kind: 'pairs' }
  /** A list of maps; the rows below `path[]` say what is in them. */
  | { kind: 'list' }
  /** A map that may be absent as a whole; the rows below it say what is in it. */
  | { kind: 'map' };

export interface Setting {
  path: string;
  shape: Shape;
  /** What it is when no file says; undefined where nothing is a value of its own. */
  default?: boolean | number | string | readonly never[] | Readonly<Record<string, never>>;
  /** Said instead of the default where it depends on something else. */
  defaultWords?: string;
  required?: true;
  /** The member of Settings that it ends up in. */
  field: keyof Settings;
  /** A change of it is taken over while running, or needs a new start. */
  change: 'live' | 'restart';
  about: string;
}
