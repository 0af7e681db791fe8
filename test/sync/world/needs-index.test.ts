import { expect, it } from 'vitest';
import type { SyncedKind, VirtualItem } from '../../../src/sync/plan/kind.ts';
import { NeedsIndex } from '../../../src/sync/world/needs-index.ts';

const kind = {
  kind: 'Note',
  needs: ({ name }: VirtualItem) => ({ service: name === '' ? undefined : `default/${name}` }),
} as unknown as SyncedKind;
const naming = (name: string) => ({ namespace: 'default', name }) as VirtualItem;
const named = (needs: NeedsIndex) => [...needs.namedServices(kind)].map(([service, objects]) => [service, ...objects]);

it('a Service that no object names any more is forgotten', () => {
  const needs = new NeedsIndex();
  needs.note(kind, 'default/a', naming('web'));
  needs.note(kind, 'default/b', naming('web'));
  expect(named(needs)).toEqual([['default/web', 'default/a', 'default/b']]);
  needs.note(kind, 'default/a', naming('api'));
  expect(named(needs)).toEqual([
    ['default/web', 'default/b'],
    ['default/api', 'default/a'],
  ]);
  needs.note(kind, 'default/b', undefined);
  needs.note(kind, 'default/a', naming(''));
  expect(named(needs)).toEqual([]);
  expect([needs.serviceOf(kind, 'default/a'), needs.objectsOf(kind, 'default/web')]).toEqual([undefined, []]);
});
