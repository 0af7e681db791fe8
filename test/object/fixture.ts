import { readFileSync } from 'node:fs';

/** The cases of fixtures/object/<name>.json; its `about` says where they come from. */
export function cases<T>(name: string): T[] {
  const url = new URL(`../../fixtures/object/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as { cases: T[] }).cases;
}
