// Hostile requests as data: a body is JSON with recipes in it, and the numbers of the recipes are what a search can grow.
// `{"$times": N, "of": X}` a list of N; `{"$keys": "l$n", "$times": N, "of": X}` a map of N keys; `{"$text": N, "of": "x"}` a text of N
// pieces; `{"$join": [...]}` one list of lists; `{"$concat": [...]}` a text that is sent as it is. `$n` is the index in a recipe,
// `$i` the number of the request. Pure.

export type Template = null | boolean | number | string | readonly Template[] | { readonly [key: string]: Template };

export interface Send {
  method: string;
  path: string;
  type: string;
  accept?: string;
}

/** One-byte chunks; such with extensions; a byte in each TLS record; trailers or header lines in a record for each byte. */
export type PiecesHow = 'chunks' | 'extensions' | 'records' | 'trailers' | 'header';

export interface HostileCase {
  name: string;
  why: string;
  /** `plain`: an ordinary key; `empty`: one with the scope {}; `many`: thirty ordinary ones in turn; `large`: four of one owner, each nearly as long as may be; `agent`: that of a direct endpoint; `none`: no key. */
  key?: 'plain' | 'empty' | 'many' | 'large' | 'agent' | 'none';
  send?: Send;
  body?: Template;
  /** Stands for {values} in the path. */
  values?: Template;
  times?: number;
  seconds?: number;
  connections?: number;
  unfinished?: { count: number; announced: number; sent: number; seconds: number };
  /** A request in so many tiny pieces, that never ends, on each of so many connections. */
  pieces?: { count: number; how: PiecesHow; each: number; seconds: number };
  /** Connections with one answered request each. */
  idle?: { count: number; seconds: number };
  unread?: { count: number; path: string; seconds: number; pipelined?: number };
  /** Answers that are taken in as fast as they come, and thrown away. */
  taken?: { count: number; path: string; seconds: number };
  /** Sessions through the proxy that send so many bytes each, get them back, and read none. */
  sessions?: { count: number; path: string; sent: number; seconds: number };
}

/** The text of the body; `$i` stays for the sender. */
export function bodyText(template: Template): string {
  const made = expanded(template);
  return isConcat(template) ? String(made) : JSON.stringify(made);
}

/** Every number in a recipe, in the order of the template. */
export function sizesIn(template: Template): number[] {
  const found: number[] = [];
  visit(template, (size) => {
    found.push(size);
    return size;
  });
  return found;
}

export function withSizes(template: Template, sizes: readonly number[]): Template {
  let at = 0;
  return visit(template, () => sizes[at++] as number);
}

const sizeNames = new Set(['$times', '$text']);

function visit(template: Template, change: (size: number) => number): Template {
  if (Array.isArray(template)) return template.map((item) => visit(item, change));
  if (!isMap(template)) return template;
  const entries = Object.entries(template).map(([name, value]): [string, Template] => {
    const isSize = sizeNames.has(name) && typeof value === 'number';
    return [name, isSize ? change(value) : visit(value, change)];
  });
  return Object.fromEntries(entries);
}

function expanded(template: Template): Template {
  if (Array.isArray(template)) return template.map(expanded);
  if (!isMap(template)) return template;
  const { $times: times, $keys: keys, $text: text, $join: join, $concat: concat, of = null } = template;
  if (Array.isArray(join)) return join.flatMap((part) => expanded(part) as Template[]);
  if (Array.isArray(concat)) return concat.map((part) => String(expanded(part))).join('');
  if (typeof text === 'number') return Array.from({ length: text }, (_, n) => numbered(String(of), n)).join('');
  if (typeof times !== 'number') return Object.fromEntries(Object.entries(template).map(([k, v]) => [k, expanded(v)]));
  const whole = JSON.stringify(expanded(of));
  const item = whole.includes('$n') ? (n: number) => JSON.parse(numbered(whole, n)) : () => JSON.parse(whole);
  if (typeof keys !== 'string') return Array.from({ length: times }, (_, n) => item(n));
  return Object.fromEntries(Array.from({ length: times }, (_, n) => [numbered(keys, n), item(n)]));
}

const numbered = (text: string, n: number) => text.replaceAll('$n', String(n));

function isMap(template: Template): template is { readonly [key: string]: Template } {
  return typeof template === 'object' && template !== null && !Array.isArray(template);
}

function isConcat(template: Template): boolean {
  return isMap(template) && '$concat' in template;
}
