import { describe, expect, it } from 'vitest';
import { nameOf } from '../../../src/store/kubernetes/record-format.ts';
import { Graves, mostTold, Succession } from '../../../src/store/kubernetes/succession.ts';
import { VirtualClock } from '../../virtual-clock.ts';

/** A first version of a name, whose writer had read the store up to this version. */
const first = (after: number) => ({ name: 'hw-a', version: 900, data: { after: String(after) } });
const unknown = { newest: undefined, offset: 0 };

async function beaten(times: number) {
  const clock = new VirtualClock();
  const succession = new Succession(clock);
  for (let version = 1; version <= times; version++) {
    await clock.advance(2_000);
    succession.beat(version);
  }
  return (after: number) => succession.fault(first(after), '{}', unknown);
}

describe('Succession', () => {
  it('believes no first version whose writer had read less than the store was two minutes ago', async () => {
    const faultOf = await beaten(100);
    // The newest sixty beats are those of two minutes.
    expect(faultOf(40)).toMatch(/^it is an older version/);
    expect(faultOf(41)).toBe(undefined);
  });

  it('cannot tell as long as it has not looked for two minutes', async () => {
    expect((await beaten(59))(0)).toBe(undefined);
    expect((await beaten(60))(0)).toMatch(/^it is an older version/);
  });
});

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
