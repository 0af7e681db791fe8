// Patterns of paths in rules[].nonResourceURLs: a path, or a path whose last step is `*`.

export const urlPatternWords = 'a path that begins with /, in which * stands only as the whole last step';

export function isURLPattern(text: string): boolean {
  if (text === '*') return true;
  if (!/^\/[^\s?#%]*$/.test(text)) return false;
  const star = text.indexOf('*');
  return star < 0 || (star === text.length - 1 && text.endsWith('/*'));
}

/** `/a/*` matches every path that begins with `/a/`. */
export function matchesURL(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(beginning(pattern)) : path === pattern;
}

export function urlHolds(outer: string, inner: string): boolean {
  if (!inner.endsWith('*')) return matchesURL(outer, inner);
  return outer.endsWith('*') && beginning(inner).startsWith(beginning(outer));
}

function beginning(pattern: string): string {
  return pattern === '*' ? '/' : pattern.slice(0, -1);
}
