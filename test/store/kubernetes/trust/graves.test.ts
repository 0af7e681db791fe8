import { describe, expect, it } from 'vitest';
import { nameOf } from '../../../../src/store/kubernetes/records/record-format.ts';
import { Graves, mostTold } from '../../../../src/store/kubernetes/trust/graves.ts';

describe('Graves', () => {
  it('tell the newest deletions, and who cannot be judged by them', () => {
    const graves = new Graves();
    for (let version = 1; version <= mostTold + 5; version++) graves.add(nameOf(`/${version}`), version);
    const { gone, since } = graves.told();
    expect([gone.length, since]).toEqual([mostTold, 5]);
    const other = new Graves();
    other.hear([...gone, 'damaged', '@', 'x@-']);
    expect([6, 5].map((version) => other.isGoneAfter(nameOf(`/${version}`), version - 1))).toEqual([true, false]);
    expect(other.isGoneAfter(nameOf('/6'), 6)).toBe(false);
  });

  it('keep the last deletion of a name, and forget what nothing needs', () => {
    const graves = new Graves();
    graves.add(nameOf('/a'), 10);
    graves.hear(graves.told().gone);
    graves.add(nameOf('/a'), 5);
    expect(graves.isGoneAfter(nameOf('/a'), 9)).toBe(true);
    graves.forget(10);
    expect([graves.isGoneAfter(nameOf('/a'), 0), graves.told()]).toEqual([false, { gone: [], since: 0 }]);
  });
});
