import { expect, it } from 'vitest';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { failureOf, redacted } from '../../../../src/sync/patch/set/failure.ts';
import { compilePatchSet } from '../../../../src/sync/patch/set/patch-set.ts';
import { entry } from '../fake-patch.ts';

it.each([
  [undefined, 'missing'],
  ['', 'a text of 0 characters'],
  ['x', 'a text of 1 character'],
  ['hunter2', 'a text of 7 characters'],
  ['hunter22', 'a text of 8 characters, "hu…"'],
  [['a', 'b'], 'a list of 2'],
  [{ a: 1 }, 'an object of 1 key'],
  [{}, 'an object of 0 keys'],
])('a value %j that a patch failed on is shown as %s', (value, shown) => {
  expect(redacted(value)).toBe(shown);
});

it.each([
  [1, ''],
  [2, ', and at 1 more place'],
  [3, ', and at 2 more places'],
])('%i places that a patch failed at are named in one sentence', (count, more) => {
  const compiled = compilePatchSet(
    [{ index: 0, entry: entry({ path: 'metadata.labels[*]', expression: 'value' }) }],
    endpointsKind,
  );
  const [patch] = compiled.set.patches;
  if (patch === undefined) throw new Error('no patch');
  const matches = patch.path.match({ metadata: { labels: { a: '1', b: '2', c: '3' } } }, { withPaths: true });
  const errors = Array.from({ length: count }, (_, at) => ({ at, error: { kind: 'threw' as const, message: 'no' } }));
  expect(failureOf({ patch, matches, errors }, undefined).message).toBe(
    `patch 0 failed at "metadata.labels.a"${more}: no (the value is a text of 1 character)`,
  );
});
