// The addresses of the pages about objects. Pure.
export const objectsPath = '/objects';

/** A key is NAMESPACE/NAME; anything else is a name that no page has. */
export function objectPath(key: string, kind?: string): string {
  const path = `${objectsPath}/${key.split('/').map(encodeURIComponent).join('/')}`;
  return kind === undefined ? path : `${path}?kind=${encodeURIComponent(kind)}`;
}

/** The key in a path; undefined for a path that names none. */
export function keyInPath(path: string): string | undefined {
  const match = /^\/objects\/([^/]+)\/([^/]+)$/.exec(path);
  if (match === null) return undefined;
  try {
    return `${decodeURIComponent(match[1] as string)}/${decodeURIComponent(match[2] as string)}`;
  } catch {
    return undefined;
  }
}
