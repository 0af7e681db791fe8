// Records the part of `context` that an expression names. Only this part goes to the sandbox, because the configuration may
// hold passwords and objects may be large. It also keeps the memory key of a result small.

/** A tree of keys; a leaf includes everything below it. */
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

/** The chain of keys to each leaf. */
function chainsOf(use: ContextUse): string[][] {
  if (use.isWhole) return [[]];
  return [...use.keys].flatMap(([key, next]) => chainsOf(next).map((chain) => [key, ...chain]));
}

/** The use below a chain of keys; undefined when the expression names no part of it. */
export function useOf(use: ContextUse, ...chain: string[]): ContextUse | undefined {
  let node: ContextUse | undefined = use;
  for (const key of chain) {
    if (node?.isWhole) return node;
    node = node?.keys.get(key);
  }
  return node;
}

/** The named part of a value. A list is taken as a whole, because an expression can also see its length and its gaps. */
export function project(value: unknown, use: ContextUse): unknown {
  if (use.isWhole || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const part: Record<string, unknown> = {};
  for (const [key, next] of use.keys) {
    const isShown = key !== '__proto__' && Object.hasOwn(value, key);
    if (isShown) part[key] = project((value as Record<string, unknown>)[key], next);
  }
  return part;
}
