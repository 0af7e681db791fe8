import { readFileSync } from 'node:fs';

/** The cases of fixtures/object/<name>.json; `about` in the file names their origin. */
export function cases<T>(name: string): T[] {
  const url = new URL(`../../fixtures/object/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as { cases: T[] }).cases;
}
