// Which part of `context` an expression names. Only that part goes to the sandbox: the configuration may hold passwords,
// the objects may be large, and what an expression cannot see need not be part of what its result is remembered by.

/** A tree of keys; a leaf stands for everything below it. */
export interface ContextUse {
  isWhole: boolean;
  keys: Map<string, ContextUse>;
}

export function emptyUse(): ContextUse {
  return { isWhole: false, keys: new Map() };
}

export function addUse(use: ContextUse, chain: readonly string[]): void {
  let node = use;
  for (const key of chain) {
    if (node.isWhole) return;
    let next = node.keys.get(key);
    if (next === undefined) {
      next = emptyUse();
      node.keys.set(key, next);
    }
    node = next;
  }
  node.isWhole = true;
  node.keys.clear();
}

export function mergeUse(into: ContextUse, other: ContextUse): void {
  for (const chain of chainsOf(other)) addUse(into, chain);
}

/** To each leaf. */
function chainsOf(use: ContextUse): string[][] {
  if (use.isWhole) return [[]];
  return [...use.keys].flatMap(([key, next]) => chainsOf(next).map((chain) => [key, ...chain]));
}

/** The use below one key; undefined when nothing there is named. */
export function useOf(use: ContextUse, ...chain: string[]): ContextUse | undefined {
  let node: ContextUse | undefined = use;
  for (const key of chain) {
    if (node?.isWhole) return node;
    node = node?.keys.get(key);
  }
  return node;
}

/** The named part of a value. Lists are taken whole: their length and their gaps are part of what can be seen. */
export function project(value: unknown, use: ContextUse): unknown {
  if (use.isWhole || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const part: Record<string, unknown> = {};
  for (const [key, next] of use.keys) {
    const isShown = key !== '__proto__' && Object.hasOwn(value, key);
    if (isShown) part[key] = project((value as Record<string, unknown>)[key], next);
  }
  return part;
}
