// The words of a status for people: a name of a field becomes words, a value becomes text. The command line and the pages both use
// them, so that a field reads the same in both. No field is treated specially by its name. Pure.
import { safeValue } from '../../safe-text.ts';

/** A status as JSON: whoever prints it knows the verdict and the messages by name, and shows whatever else there is. */
export type StatusJson = Record<string, unknown>;

export function isFacts(value: unknown): value is StatusJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value gets a section of its own; an empty list or map gets a line with the word "none". */
export function isBlock(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isFacts(value) && Object.keys(value).length > 0;
}

export function say(value: unknown, nothing = 'none'): string {
  if (value === undefined || value === null || value === '') return nothing;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return String(Math.round(value * 1000) / 1000);
  if (typeof value === 'string') return safeValue(value);
  if (Array.isArray(value)) return value.length === 0 ? nothing : value.map((item) => say(item)).join(', ');
  return isFacts(value) && Object.keys(value).length === 0 ? nothing : JSON.stringify(value);
}

/** `hostNamespace` -> `host namespace`. */
export function wordsOf(name: string): string {
  return safeValue(name).replace(
    /([a-z0-9])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
}

export function titleOf(name: string): string {
  const words = wordsOf(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The columns of a table: a long message would push the cells behind it out of sight, so it comes last. */
export function columnsOf(rows: readonly StatusJson[]): string[] {
  const found = new Set(rows.flatMap((row) => Object.keys(row)));
  return found.delete('message') ? [...found, 'message'] : [...found];
}

/** States that need attention come first. */
export const stateOrder = ['refused', 'retry', 'waiting', 'pending', 'left', 'inSync', 'ineligible'];
