import { describe, expect, it } from 'vitest';
import { begin, type Fields, host, release, setUp, thrown, virtual } from './stage.ts';

setUp();

type Raw = Partial<Record<'labels' | 'annotations', Record<string, string | null>>>;

async function back(entries: readonly Fields[], raw: Raw) {
  const { patcher, translation, counts, trace } = await begin(entries);
  const [labels, annotations] = [raw.labels, raw.annotations].map((map) => new Map(Object.entries(map ?? {})));
  const made = await patcher.back({ virtual, host, translation, raw: { labels, annotations } as never });
  const [failure] = [...made.failures.labels.values(), ...made.failures.annotations.values()];
  const { values } = made;
  const all = { ...Object.fromEntries(values.labels), ...Object.fromEntries(values.annotations) };
  return { values: failure ?? all, totals: counts.totals()[0], trace };
}

describe('the way back', () => {
  it.each<[name: string, path: string, reverse: string, raw: Raw, values: object]>([
    [
      'a removed key stays removed, whatever an expression returns for its map',
      'metadata.annotations',
      '({ ...value, k: "again" })',
      { annotations: { k: null } },
      { k: null },
    ],
    [
      'a removed key is not seen',
      'metadata.annotations',
      '({ ...value, keys: Object.keys(value).join() })',
      { annotations: { k: null, keys: 'x' } },
      { k: null, keys: 'hostward.dev/pause,keys' },
    ],
    [
      'a label that is called otherwise on the host has that name here',
      `metadata.labels["${release}"]`,
      'value + "-back"',
      { labels: { release: 'b' } },
      { release: 'b-back' },
    ],
    [
      'in a whole map it has the name that the tenant gave it',
      'metadata.labels',
      '({ team: value["release"] })',
      { labels: { team: 'b' } },
      { team: 'r' },
    ],
    [
      'the empty path sees the whole object',
      '',
      '(value.metadata.labels.team += value.subsets.length, value)',
      { labels: { team: 'b' } },
      { team: 'b1' },
    ],
    [
      'a result null takes the key away',
      'metadata.labels',
      '({ team: null })',
      { labels: { team: 'b' } },
      { team: null },
    ],
    [
      'an annotation may hold what no label could',
      'metadata.annotations.k',
      '"two words, " + value',
      { annotations: { k: 'b' } },
      { k: 'two words, b' },
    ],
    [
      'a path that is not found is not applied',
      'metadata.labels.none',
      thrown,
      { labels: { team: 'b' } },
      { team: 'b' },
    ],
  ])('%s', async (_name, path, reverseExpression, raw, values) => {
    expect((await back([{ path, reverseExpression }], raw)).values).toEqual(values);
  });

  it('counts and traces what it did', async () => {
    const path = 'metadata.labels.team';
    const { totals, trace } = await back([{ path, reverseExpression: 'value + "-x"' }], { labels: { team: 'b' } });
    expect(totals).toEqual({ patch: 0, values: 1, changes: 1, failures: 0 });
    expect(trace).toEqual([{ patch: 0, path, at: path, before: 'b', after: 'b-x' }]);
  });

  it('traces nothing of the trial whether the virtual object could still be patched', async () => {
    const path = 'metadata.labels.team';
    const both = { path, expression: 'value + "-x"', reverseExpression: 'value.slice(0, -2)' };
    const { trace } = await back([both], { labels: { team: 'b-x' } });
    expect(trace).toEqual([{ patch: 0, path, at: path, before: 'b-x', after: 'b' }]);
  });

  it('holds back a value that it fails on, and counts and traces that', async () => {
    const path = 'metadata.labels.team';
    const { values, totals, trace } = await back([{ path, reverseExpression: thrown }], { labels: { team: 'b' } });
    expect(values).toMatchObject({ patch: 0, path, at: path, class: 'threw' });
    const lastFailure = `patch 0 failed at "${path}": no (the value is a text of 1 character)`;
    expect(totals).toEqual({ patch: 0, values: 1, changes: 0, failures: 1, lastFailure });
    expect(trace).toMatchObject([{ patch: 0, at: path, before: 'b', after: 'b' }]);
  });

  it.each<[string, Fields[], Raw, object]>([
    [
      'an impossible label',
      [{ path: 'metadata.labels.team', reverseExpression: '"two words"' }],
      { labels: { team: 'b' } },
      { patch: 0, path: 'metadata.labels.team', at: 'metadata.labels.team', message: /a good value for metadata/ },
    ],
    [
      'no text, by the one patch that reaches it',
      [
        { path: 'metadata.annotations.k', reverseExpression: 'value' },
        { path: 'metadata.labels[*]', reverseExpression: '7' },
        { path: 'subsets', reverseExpression: 'value' },
      ],
      { labels: { team: 'b' } },
      { patch: 1, path: 'metadata.labels[*]', message: /a string for metadata\.labels\["team"\]$/ },
    ],
    [
      'no text, by one of several',
      [
        { path: 'metadata[*].team', reverseExpression: '7' },
        { path: 'metadata.labels[*]', reverseExpression: 'value' },
      ],
      { labels: { team: 'b' } },
      { patch: undefined, path: undefined, message: /a string for metadata\.labels\["team"\]$/ },
    ],
  ])('says who is to blame for %s', async (_name, entries, raw, { message, ...blame }: { message?: RegExp }) => {
    const { values } = await back(entries, raw);
    expect(values).toMatchObject({ class: 'type', message: expect.stringMatching(message as RegExp) });
    for (const [key, value] of Object.entries(blame)) expect((values as Record<string, unknown>)[key]).toBe(value);
  });

  it.each(['fail', 'skip'] as const)(
    'a reference to a kind that cannot be referred to, onError: %s',
    async (onError) => {
      const path = 'metadata.annotations';
      const reference = { kind: 'Secret', apiVersion: 'v1', namePath: 'k', kindPath: 'kind' } as never;
      const { values, totals } = await back([{ path, reference, onError }], { annotations: { k: 'b', kind: 'Other' } });
      const message = expect.stringContaining('found kind "Other"');
      expect(values).toMatchObject({ patch: 0, path, class: 'type', message });
      expect(totals?.failures).toBe(1);
    },
  );
});
