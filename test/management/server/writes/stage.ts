// A management server of its own, and the calls that make and change keys there.
import { afterAll, beforeAll } from 'vitest';
import { type Answer, type Ask, type Bench, keysPath, openBench } from '../bench.ts';

export let bench: Bench;

export let count = 0;

export const fresh = () => `made-${++count}`;

export const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export function create(body: object | string, how: Ask & { query?: string } = {}): Promise<Answer> {
  return bench.ask('POST', `${keysPath}${how.query ?? ''}`, { body, ...how });
}

export async function made(spec: object = {}, metadata: object = {}): Promise<string> {
  const name = fresh();
  const answer = await create({ metadata: { name, ...metadata }, spec: { user: 'alice', ...spec } });
  if (answer.code !== 201) throw new Error(answer.text);
  return name;
}

export function patch(name: string, type: keyof typeof types, body: object | string, query = ''): Promise<Answer> {
  return bench.ask('PATCH', `${keysPath}/${name}${query}`, { type: types[type], body });
}

export const causes = ({ body }: Answer): [string, string][] =>
  ((body['details']?.['causes'] ?? []) as unknown as { reason: string; field: string }[]).map(({ reason, field }) => [
    reason,
    field,
  ]);

/** Call it at the top of a file of tests. */
export function setUp(): void {
  beforeAll(async () => {
    bench = await openBench({
      settings: { keys: { maxTTL: 0, requireExpiry: false, allowSupplied: true, perOwner: 500 } },
    });
  });
  afterAll(() => bench.stop());
}
