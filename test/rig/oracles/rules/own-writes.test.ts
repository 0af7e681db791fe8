// The oracle of own writes speaks where a daemon forgets what the answer to its own write has said, and where it writes again without a look.
import { expect, it } from 'vitest';
import type { LiveFault } from '../../faults/live-fault.ts';
import type { World } from '../../play/world.ts';
import { type Passing, passingOf } from '../../proxy/passing.ts';
import { Board } from '../board.ts';
import { OwnWrites } from './own-writes.ts';

const copies = '/api/v1/namespaces/vcluster-vc/endpoints';
const ours = (uid: string) => ({ metadata: { name: 'web', uid, labels: { 'vcluster.loft.sh/managed-by': 'vc' } } });
const copy = (resourceVersion: string) => ({ metadata: { name: 'web', uid: 'u1', resourceVersion } });

function stage(faults: readonly LiveFault[] = []) {
  const written: object[] = [];
  let standing: object | undefined;
  const clusters = { host: { store: { written }, find: () => standing } };
  const board = new Board(() => 0);
  const wire = { isOpen: true, isHeld: false };
  const proxies = { host: { wires: new Map([[wire, 'hostward-0']]) } };
  const oracle = new OwnWrites({ clusters, proxies } as unknown as World, board, faults);
  let id = 0;
  const sent = (method: string, path: string, body: object = {}): Passing => {
    id += 1;
    const raw = { id, side: 'host', daemon: 'hostward-0', headers: {}, atMs: 0 } as const;
    const passing = passingOf({ ...raw, method, path, body: JSON.stringify(body) });
    oracle.passed(passing);
    return passing;
  };
  /** The server carries it out, and the daemon has the whole answer. */
  const done = (passing: Passing, revision: number, after: object | undefined, fate?: string): void => {
    standing = after;
    const by = { daemon: passing.daemon, request: passing.id };
    written.push({ revision, by, before: copy('1'), after });
    if (fate !== undefined) passing.fate = fate;
    oracle.given(passing, 200, '');
  };
  const create = () => sent('POST', copies, { metadata: { name: 'web', namespace: 'vcluster-vc' } });
  const change = (resourceVersion: string) => sent('PATCH', `${copies}/web`, copy(resourceVersion));
  const remove = (resourceVersion: string) =>
    sent('DELETE', `${copies}/web`, { preconditions: { uid: 'u1', resourceVersion } });
  const read = () => sent('GET', `${copies}/web`);
  const shown = (object: object): void => {
    standing = object;
    oracle.given(read(), 200, JSON.stringify(object));
  };
  const kinds = () => board.violations.map(({ kind }) => kind);
  return { oracle, wire, sent, create, change, remove, read, done, shown, kinds };
}

it('a daemon writes over what its last write has made, and not over what was there before', () => {
  const { change, done, kinds } = stage();
  done(change('1'), 5, copy('5'));
  change('5');
  change('7');
  expect(kinds()).toEqual([]);
  change('4');
  expect(kinds()).toEqual(['older']);
});

it('a daemon writes nothing to what it has deleted', () => {
  const { change, remove, done, kinds } = stage();
  done(remove('1'), 5, undefined);
  change('1');
  expect(kinds()).toEqual(['to what is deleted']);
});

it('a copy that waits for its finalizer is not deleted yet', () => {
  const { change, remove, done, kinds } = stage();
  done(remove('1'), 5, copy('5'));
  change('5');
  expect(kinds()).toEqual([]);
});

it('a daemon makes a copy again only where the one that it made is gone', () => {
  const { create, remove, done, kinds } = stage();
  done(create(), 5, copy('5'));
  done(remove('5'), 6, undefined);
  done(create(), 7, copy('7'));
  expect(kinds()).toEqual([]);
  create();
  expect(kinds()).toEqual(['made twice']);
});

it('an answer on a connection that stands still may be given up before it is read, and one that was read is known', () => {
  const given = stage();
  given.done(given.create(), 5, copy('5'));
  given.wire.isHeld = true;
  given.oracle.still();
  given.create();
  expect(given.kinds()).toEqual([]);
  const read = stage();
  read.done(read.create(), 5, copy('5'));
  read.oracle.still();
  read.wire.isHeld = true;
  read.oracle.still();
  read.create();
  expect(read.kinds()).toEqual(['made twice']);
});

it('a daemon that was shown changes out of their order may take what it has made for gone', () => {
  const { create, done, kinds } = stage([{ hasStruck: true, recipe: { class: 'F12' } } as unknown as LiveFault]);
  done(create(), 5, copy('5'));
  create();
  expect(kinds()).toEqual([]);
});

it('a daemon makes no copy that it has been shown', () => {
  const { create, shown, kinds } = stage();
  shown(ours('u1'));
  create();
  expect(kinds()).toEqual(['made in vain']);
});

it('a daemon may make a copy where it was shown an object without the marker, an earlier one, a removal, or lists that lie', () => {
  const { oracle, sent, create, read, shown, done, kinds } = stage();
  shown(copy('5'));
  create();
  shown(ours('u1'));
  done(read(), 7, ours('u2'), 'cut');
  create();
  shown(ours('u2'));
  oracle.event({ passing: read() } as never, { type: 'DELETED', key: 'vcluster-vc/web' } as never);
  create();
  shown(ours('u2'));
  oracle.given(sent('GET', copies), 200, '');
  create();
  const lied = stage([{ hasStruck: true, recipe: { class: 'F9' } } as unknown as LiveFault]);
  lied.shown(ours('u1'));
  lied.create();
  expect([...kinds(), ...lied.kinds()]).toEqual([]);
});

it('an answer that a fault has changed says nothing, nor does one of a server that was set back later', () => {
  const changed = stage();
  changed.done(changed.change('1'), 5, copy('5'), 'change');
  changed.change('4');
  const refused = changed.change('7');
  refused.fate = 'change';
  changed.oracle.given(refused, 409, '');
  changed.change('7');
  expect(changed.kinds()).toEqual([]);
  const back = stage([{ hasStruck: true, recipe: { class: 'F36' } } as unknown as LiveFault]);
  back.done(back.change('1'), 5, copy('5'));
  back.change('4');
  expect(back.kinds()).toEqual([]);
});

it.each([
  ['shown once an older state', ['3'], ['to what is deleted']],
  ['shown an older state twice', ['3', '3'], []],
  ['shown the present one between', ['3', '9', '3'], ['to what is deleted']],
])('a daemon that is %s may believe it', (_, versions, found) => {
  const { oracle, sent, change, remove, done, kinds } = stage([
    { hasStruck: true, recipe: { class: 'F9' } } as unknown as LiveFault,
  ]);
  done(remove('1'), 5, undefined);
  for (const resourceVersion of versions) {
    const list = sent('GET', copies);
    list.fate = 'change';
    oracle.given(list, 200, JSON.stringify({ metadata: { resourceVersion } }));
  }
  change('1');
  expect(kinds()).toEqual(found);
});

it('behind a conflict a list shows the object as well', () => {
  const { oracle, sent, change, kinds } = stage();
  oracle.given(change('1'), 409, '');
  oracle.given(sent('GET', copies), 503, '');
  oracle.given(sent('GET', copies), 200, '');
  change('1');
  expect(kinds()).toEqual([]);
});

it('behind a conflict an object is read before the same write comes again', () => {
  const { oracle, change, read, kinds } = stage();
  oracle.given(change('1'), 409, '');
  read();
  oracle.madeUp(change('1'), 409);
  change('2');
  expect(kinds()).toEqual([]);
  change('1');
  expect(kinds()).toEqual(['not read again']);
});

it('an event shows an object as well, and many conflicts in a row are no reason not to look', () => {
  const { oracle, change, kinds } = stage();
  const passing = change('1');
  oracle.given(passing, 409, '');
  oracle.event({ passing } as never, { key: 'vcluster-vc/web' } as never);
  change('1');
  expect(kinds()).toEqual([]);
  for (let nth = 0; nth < 8; nth++) oracle.given(passing, 409, '');
  change('1');
  expect(kinds()).toEqual(['not read again']);
});
