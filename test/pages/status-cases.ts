// The statuses of `fixtures/pages/status`: what a daemon says of itself in several states.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StatusJson } from '../../src/sync/report/words.ts';

const folder = fileURLToPath(new URL('../../fixtures/pages/status/', import.meta.url));
export const cases = readdirSync(folder).map((file): [string, StatusJson] => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
]);
export const rightless = cases.find(([name]) => name === 'rightless')?.[1] as StatusJson & { trouble: object[] };
export const failing = cases.find(([name]) => name === 'failing')?.[1] as StatusJson;

export interface ToldVerdict {
  sentence: string;
  since?: string;
  parts?: { part: string; since?: string }[];
}
