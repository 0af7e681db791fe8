import { describe, expect, it } from 'vitest';
import { Succession } from '../../../src/store/kubernetes/succession.ts';
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
