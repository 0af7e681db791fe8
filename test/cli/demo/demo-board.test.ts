import { beforeEach, describe, expect, it } from 'vitest';
import { type BoardRow, DemoBoard, ownerOf, projectSeen } from '../../../src/cli/demo/demo-board.ts';
import { endpointsObject } from '../../../src/cli/demo/demo-story.ts';
import { frameOf, plainLine, Screen } from '../../../src/cli/demo/demo-view.ts';
import { keyOf } from '../../../src/object/meta/object.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const hostKeyOf = (key: string) => `host/${key.replace('/', '-x-')}`;
const seen = (...ips: string[]) => projectSeen(endpointsObject('shop', 'db', ips, { app: 'db' }));

let clock: VirtualClock;
let agreed: BoardRow[];
let board: DemoBoard;
beforeEach(() => {
  clock = new VirtualClock();
  agreed = [];
  board = new DemoBoard({ clock, hostKeyOf, agreed: (row) => agreed.push(row) });
});

describe('DemoBoard', () => {
  it('measures how long the two sides differ', async () => {
    board.virtualChanged('shop/db', seen('10.0.0.1'));
    await clock.advance(7);
    expect(board.rows()).toMatchObject([
      { state: 'not on the host', lagMs: undefined, lastChange: { side: 'virtual', agoMs: 7 } },
    ]);
    board.hostChanged('host/shop-x-db', seen('10.0.0.1'));
    await clock.advance(5);
    expect(board.rows()).toMatchObject([{ state: 'in sync', lagMs: 7, lastChange: { side: 'virtual', agoMs: 12 } }]);
    expect(agreed).toHaveLength(1);
  });

  it('counts from the first of several changes', async () => {
    board.virtualChanged('shop/db', seen('10.0.0.1'));
    board.hostChanged('host/shop-x-db', seen('10.0.0.1'));
    board.virtualChanged('shop/db', seen('10.0.0.2'));
    await clock.advance(4);
    board.virtualChanged('shop/db', seen('10.0.0.3'));
    await clock.advance(2);
    board.hostChanged('host/shop-x-db', seen('10.0.0.3'));
    expect(board.rows()).toMatchObject([{ state: 'in sync', lagMs: 6, lastChange: { agoMs: 6 } }]);
  });

  it('names the side that changed first', async () => {
    board.virtualChanged('shop/db', seen('10.0.0.1'));
    board.hostChanged('host/shop-x-db', seen('10.0.0.1'));
    board.hostChanged('host/shop-x-db', seen('9.9.9.9'));
    await clock.advance(3);
    expect(board.rows()).toMatchObject([{ state: 'on its way', lastChange: { side: 'host' } }]);
    board.hostChanged('host/shop-x-db', seen('10.0.0.1'));
    expect(board.rows()).toMatchObject([{ state: 'in sync', lagMs: 3, lastChange: { side: 'host' } }]);
  });

  it('removes a row when both sides have deleted the object', async () => {
    board.virtualChanged('shop/db', seen('10.0.0.1'));
    board.hostChanged('host/shop-x-db', seen('10.0.0.1'));
    board.virtualChanged('shop/db', undefined);
    expect(board.rows()).toMatchObject([{ state: 'leaving' }]);
    board.hostChanged('host/shop-x-db', undefined);
    expect(board.rows()).toEqual([]);
  });

  it('assigns a host object to the key in its annotations', () => {
    board.virtualChanged('a/b', seen('10.0.0.1'));
    board.hostChanged('host/a-x-b', { ...seen('10.0.0.1'), owner: 'c/d' });
    expect(board.rows().map((row) => [row.key, row.state])).toEqual([
      ['a/b', 'not on the host'],
      ['c/d', 'leaving'],
    ]);
  });

  it('ignores keys that differ by design', () => {
    const object = endpointsObject('shop', 'db', ['10.0.0.1'], { app: 'db', release: 'r' });
    const host = endpointsObject('host', 'x', ['10.0.0.1'], {
      app: 'db',
      'vcluster.loft.sh/label-vc-x-a4d451ec23': 'r',
      'endpointslice.kubernetes.io/x': '1',
    });
    expect(projectSeen(host).fingerprint).toBe(projectSeen(object).fingerprint);
  });
});

describe('ownerOf()', () => {
  it('reads both annotations or neither', () => {
    const object = endpointsObject('host', 'x', []);
    expect(ownerOf(object)).toBeUndefined();
    object.metadata.annotations = { 'vcluster.loft.sh/object-name': 'db', 'vcluster.loft.sh/object-namespace': 'shop' };
    expect(ownerOf(object)).toBe(keyOf('shop', 'db'));
    expect(projectSeen(object).owner).toBe('shop/db');
  });
});

describe('frameOf()', () => {
  const rows = Array.from(
    { length: 30 },
    (_, index): BoardRow => ({
      key: `namespace-${index}/a-rather-long-name-of-an-object`,
      hostPlace: `vcluster-demo/a-rather-long-name-of-an-object-x-namespace-${index}-x-demo`,
      lastChange: { side: 'virtual', agoMs: index * 60_000 },
      lagMs: index,
      state: index === 3 ? 'not on the host' : 'in sync',
    }),
  );
  const frame = (columns: number, lines: number) =>
    frameOf({
      rows,
      columns,
      lines,
      title: 'title',
      footer: ['f'.repeat(200), 'g'],
      reasonOf: (key) => (key.startsWith('namespace-3/') ? 'HostNameTaken' : undefined),
    });

  it.each([
    [80, 24],
    [120, 60],
    [40, 10],
    [20, 5],
    [1, 1],
  ])('fits %i columns and %i lines', (columns, lines) => {
    const text = frame(columns, lines);
    expect(text.length).toBeLessThanOrEqual(lines);
    for (const line of text) expect(line.length).toBeLessThanOrEqual(columns);
  });

  it('prints the number of rows left out, and the reason for a missing object', () => {
    expect(frame(160, 24).join('\n')).toMatch(/… and \d+ more/);
    expect(frame(160, 60).join('\n')).toContain('HostNameTaken');
  });

  it('has a line form for pipes', () => {
    expect(plainLine(rows[1]!)).toBe(
      'namespace-1/a-rather-long-name-of-an-object -> vcluster-demo/a-rather-long-name-of-an-object-x-namespace-1-x-demo: changed on the virtual side, in sync after 1.0 ms',
    );
  });
});

describe('Screen', () => {
  it('draws in one write without clearing first, and restores the terminal once', () => {
    const writes: string[] = [];
    const write = (text: string) => void writes.push(text);
    const screen = new Screen({ write, control: write, isTerminal: true, columns: 80, rows: 24 });
    screen.draw(['before it is open']);
    screen.open();
    screen.draw(['a', 'b\u001b[2J\u202e']);
    screen.close();
    screen.close();
    expect(writes).toHaveLength(3);
    expect(writes[1]).toContain('a\u001b[K\r\nb\\u001b[2J\\u202e\u001b[K\u001b[J');
    expect(writes[1]).not.toContain('\u001b[2J');
    expect(writes[2]).toContain('?1049l');
  });
});
