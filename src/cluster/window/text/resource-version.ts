// Resource versions are decimal numbers of any length; a larger number is later within one resource. They are compared as
// texts, because a double cannot hold every such number.

/** False for "", "0" and every text that is not a decimal number: such a text cannot be ordered. */
export function isVersion(text: unknown): text is string {
  return typeof text === 'string' && /^[1-9][0-9]*$/.test(text);
}

/** Negative when `a` is older than `b`, 0 when equal, positive when newer. */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

export function newest(a: string, b: string): string {
  return compareVersions(a, b) >= 0 ? a : b;
}
