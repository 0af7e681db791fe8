// A host edit is half on its way back from the first change of the copy that the daemon had not heard of, when another process notes its end.
import { expect, it } from 'vitest';
import type { World } from '../../play/world.ts';
import { passingOf } from '../../proxy/passing.ts';
import { HalfBacks } from '../half-back.ts';

const copyKey = '/registry/services/endpoints/vcluster-vc/web-x-t1-x-vc';
const copy = (base: string) => ({
  metadata: {
    annotations: {
      'vcluster.loft.sh/object-name': 'web',
      'vcluster.loft.sh/object-namespace': 't1',
      'hostward.dev/base': base,
    },
  },
});

it.each([
  ['an edit that it was told of', 10, 'hostward-1', [{ fromMs: 170, toMs: 300 }]],
  ['an edit that it was not told of', 9, 'hostward-1', [{ fromMs: 160, toMs: 300 }]],
  ['an edit that it was not told of, and it has noted the end itself', 9, 'hostward-0', []],
])('of a daemon that has written the tenant’s object behind %s', (_, told, noter, found) => {
  const virtual = { metadata: { namespace: 't1', name: 'web' } };
  const by = { daemon: 'hostward-0', request: 1 };
  const first = { key: '/registry/services/endpoints/t1/web', atMs: 170, by, before: virtual, after: virtual };
  const edits = [
    { key: copyKey, revision: 9, atMs: 140, before: copy('1'), after: copy('1') },
    { key: copyKey, revision: 10, atMs: 160, before: copy('1'), after: copy('1') },
  ];
  const note = { key: copyKey, revision: 11, atMs: 300, by: { daemon: noter, request: 2 } };
  const written = [...edits, { ...note, before: copy('1'), after: copy('2') }];
  const clusters = { virtual: { store: { written: [first] } }, host: { store: { written } } };
  const halves = new HalfBacks({ clusters, daemonOf: () => undefined } as unknown as World);
  halves.delivered({ passing: { side: 'host', daemon: 'hostward-0' } } as never, { revision: String(told) } as never);
  const raw = { id: 1, daemon: 'hostward-0', method: 'PATCH', headers: {}, body: '', atMs: 170 };
  const passing = passingOf({ ...raw, side: 'virtual', path: '/api/v1/namespaces/t1/endpoints/web' });
  halves.passed(passing);
  halves.given(passing, 200);
  const place = { kind: 'Endpoints', namespace: 't1', name: 'web' };
  expect(halves.since(0)).toEqual(found.map((times) => ({ ...place, ...times })));
});
