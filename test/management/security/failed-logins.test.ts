// Wrong credentials are limited for each source; good keys from the same source are not, and who has brought no credentials at
// all has not guessed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, keysPath, movedClock, openBench } from '../server/bench.ts';

let bench: Bench;
let key: string;
let clock: ReturnType<typeof movedClock>;

beforeAll(async () => {
  clock = movedClock();
  bench = await openBench({ clock });
  key = await bench.keyFor('good', { user: 'alice' });
});
afterAll(() => bench.stop());

async function codes(
  count: number,
  how: { key?: string | undefined; headers?: Record<string, string> },
): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < count; at++) found.push((await bench.ask('GET', keysPath, how)).code);
  return found;
}

describe('failed logins', () => {
  it('requests without credentials are 401 for ever, and use nothing up', async () => {
    expect(new Set(await codes(60, { key: undefined }))).toEqual(new Set([401]));
    // The same on paths that lead to a cluster.
    const proxied = await Promise.all(
      Array.from({ length: 60 }, () => bench.ask('GET', '/kubernetes/cluster/c1/version', { key: undefined })),
    );
    expect(new Set(proxied.map(({ code }) => code))).toEqual(new Set([401]));
    expect((await codes(5, { key: 'wrong' })).at(-1)).toBe(401);
  });

  it('wrong credentials of a source are slowed down, and good keys of the same source never', async () => {
    const wrong = `mpk_${'1'.repeat(17)}_${'2'.repeat(49)}`;
    const forms = [
      { key: wrong },
      { key: 'wrong' },
      { key: undefined, headers: { authorization: 'Basic cm9vdDpyb290' } },
    ];
    for (const form of forms) await codes(20, form);
    for (const form of forms) {
      const slowed = await bench.ask('GET', keysPath, form);
      expect(slowed).toMatchObject({ code: 429, body: { reason: 'TooManyRequests' } });
      expect(Number(slowed.headers['retry-after'])).toBeGreaterThan(0);
      expect(slowed.body['details']?.['retryAfterSeconds']).toBe(Number(slowed.headers['retry-after']));
    }
    const mixed = await Promise.all(
      Array.from({ length: 40 }, (_, at) => bench.ask('GET', keysPath, { key: at % 2 === 0 ? key : wrong })),
    );
    expect(mixed.map(({ code }) => code)).toEqual(Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? 200 : 429)));
  });
});
