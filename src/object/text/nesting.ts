// How deep a document nests and how long it is with its aliases written out. Readers of documents call themselves for each level
// and copy what an alias names, so both have limits, which are checked without recursion and before anything else reads.

/** Objects that people write nest below twenty levels; every reader of ours has stack for a thousand. */
export const maxDepth = 500;

const quote = 34;
const backslash = 92;

/** JSON text; text that is no JSON gets an answer that says nothing. */
export function isTooDeep(text: string, limit = maxDepth): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isString) {
      if (code === backslash) at++;
      else if (code === quote) isString = false;
    } else if (code === quote) {
      isString = true;
    } else if (code === 91 || code === 123) {
      depth++;
      if (depth > limit) return true;
    } else if (code === 93 || code === 125) {
      depth--;
    }
  }
  return false;
}

export type ExpansionFault = 'too deep' | 'too long';

/** Of a parsed YAML document, in which aliases share their values. `limit` counts values and characters together. */
export function expansionFault(document: unknown, limit: number): ExpansionFault | undefined {
  const left: { value: unknown; depth: number }[] = [{ value: document, depth: 0 }];
  let size = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value, depth } = next;
    size += typeof value === 'string' ? value.length + 1 : 1;
    if (size > limit) return 'too long';
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= maxDepth) return 'too deep';
    const items = Object.entries(value);
    for (const [name, item] of items) {
      size += name.length;
      left.push({ value: item, depth: depth + 1 });
    }
  }
  return undefined;
}
