// The addresses of the pages about objects, and links to them. Pure.
import { isPossible } from '../../sync/references/nothing-behind.ts';
import { type Html, html } from '../frame/html.ts';

export const objectsPath = '/objects';

/**
 * A key is NAMESPACE/NAME. A name that a patch has read can be any text, and a browser takes a segment of dots for the folder above, also
 * where the dots are encoded: names that no object can have get no path.
 */
export function objectPath(key: string, kind?: string): string | undefined {
  const [namespace, name, ...more] = key.split('/') as [string, string?, ...string[]];
  if (name === undefined || more.length > 0 || !isPossible({ namespace, name })) return undefined;
  const path = `${objectsPath}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  return kind === undefined ? path : `${path}?kind=${encodeURIComponent(kind)}`;
}

/** A label that leads to the page of an object, where it can have one. */
export function objectLink(label: string, key: string, kind?: string): Html {
  const path = objectPath(key, kind);
  return path === undefined ? html`${label}` : html`<a href="${path}">${label}</a>`;
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
