// Two small tools for payloads: a list that is copied only when something in it changes, and a text that is the same for equal
// values in any order of their members. Pure.

/** Returns the list itself when nothing in it changes. */
export function mapped<L extends readonly unknown[]>(list: L, change: (item: L[number]) => L[number]): L {
  let changed: unknown[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const item = change(list[at]);
    if (item !== list[at]) changed ??= list.slice(0, at);
    changed?.push(item);
  }
  return (changed as unknown as L | undefined) ?? list;
}

export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(JSON.stringify(value));
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalText(member)}`).join()}}`;
}
