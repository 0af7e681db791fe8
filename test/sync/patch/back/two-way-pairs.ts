// Pairs of expressions that cannot reverse every text, and the paths that they are tried on.
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import { entry } from '../fake-patch.ts';

export interface Pair {
  name: string;
  map: 'labels' | 'annotations';
  expression: string;
  reverseExpression: string;
  to(text: string): string;
  /** Undefined where it cannot be reversed. */
  from(text: string): string | undefined;
}

const prefix = (map: Pair['map']): Pair => ({
  name: `a prefix on ${map}`,
  map,
  expression: '"P-" + value',
  reverseExpression: '(value.startsWith("P-") ? value.slice(2) : value.is.none)',
  to: (text) => `P-${text}`,
  from: (text) => (text.startsWith('P-') ? text.slice(2) : undefined),
});

export const pairs: readonly Pair[] = [
  {
    name: 'JSON',
    map: 'annotations',
    expression: 'JSON.stringify(value)',
    reverseExpression: 'JSON.parse(value)',
    to: (text) => JSON.stringify(text),
    from: (text) => asText(() => JSON.parse(text)),
  },
  {
    name: 'base64',
    map: 'annotations',
    expression: 'btoa(value)',
    reverseExpression: 'atob(value)',
    // Of UTF-8, as in Kubernetes.
    to: (text) => Buffer.from(text).toString('base64'),
    from: (text) => asText(() => new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(atob(text), 'latin1'))),
  },
  prefix('annotations'),
  prefix('labels'),
];

function asText(make: () => unknown): string | undefined {
  try {
    const made = make();
    return typeof made === 'string' ? made : undefined;
  } catch {
    return undefined;
  }
}

export interface Shape {
  name: string;
  path(map: string): string;
  isWhole: boolean;
  reaches(key: string): boolean;
}

export const shapes: readonly Shape[] = [
  { name: 'one key', path: (map) => `metadata.${map}["one"]`, isWhole: false, reaches: (key) => key === 'one' },
  { name: 'each key', path: (map) => `metadata.${map}[*]`, isWhole: false, reaches: () => true },
  { name: 'the whole map', path: (map) => `metadata.${map}`, isWhole: true, reaches: () => true },
];

/** In one entry, or each direction in its own. */
export function patchesOf(pair: Pair, shape: Shape, isSplit: boolean): PatchEntry[] {
  const path = shape.path(pair.map);
  // Of a whole map it sees the tenant's own texts too, which it may not be able to reverse: these must not stop it.
  const tolerant = `(() => { try { return ${pair.reverseExpression} } catch { return 0 } })()`;
  const each = (made: string) => `Object.fromEntries(Object.entries(value).map(([k, value]) => [k, ${made}]))`;
  const expression = shape.isWhole ? each(pair.expression) : pair.expression;
  const reverseExpression = shape.isWhole ? each(tolerant) : pair.reverseExpression;
  return isSplit
    ? [entry({ path, expression }), entry({ path, reverseExpression })]
    : [entry({ path, expression, reverseExpression })];
}
