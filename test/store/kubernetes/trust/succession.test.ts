import { describe, expect, it } from 'vitest';
import { Succession } from '../../../../src/store/kubernetes/trust/succession.ts';
import { VirtualClock } from '../../../virtual-clock.ts';

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
  return (after: number) => succession.verdict(first(after), '{}', unknown);
}

describe('Succession', () => {
  it('believes no first version whose writer had read less than the store was two minutes ago', async () => {
    const faultOf = await beaten(100);
    // The newest sixty beats are those of two minutes.
    expect(faultOf(40)).toBe('old');
    expect(faultOf(41)).toBe(undefined);
  });

  it('cannot tell as long as it has not looked for two minutes', async () => {
    expect((await beaten(59))(0)).toBe(undefined);
    expect((await beaten(60))(0)).toBe('old');
  });
});

describe('Succession, of a name that was not heard of', () => {
  it('is sure that a writer is too late, unless more was deleted than could be told', () => {
    const verdictAfter = (isCertain: boolean, after: number) => {
      const succession = new Succession(new VirtualClock());
      succession.inherit(50, isCertain);
      return succession.verdictOfUnheard(first(after), { offset: 0 });
    };
    expect([verdictAfter(true, 49), verdictAfter(false, 49)]).toEqual(['old', 'perhapsOld']);
    expect([verdictAfter(true, 50), verdictAfter(false, 50)]).toEqual([undefined, undefined]);
  });
});

describe('Succession, of a record that could not be judged', () => {
  const change = { name: 'hw-a', version: 910, data: { after: '905', created: '900', replaced: '900' } };
  const verdictOf = (of: typeof change, guessed: number | undefined, missedAfter?: number) =>
    new Succession(new VirtualClock()).verdict(of, '{}', { ...unknown, guessed, ...(missedAfter && { missedAfter }) });

  it('believes a change, because a replica that seals it has believed what it changes', () => {
    expect([verdictOf(change, 900), verdictOf(change, 900, 905)]).toEqual([undefined, undefined]);
    // One of the changes between them was missed.
    const later = { ...change, version: 920, data: { ...change.data, replaced: '910' } };
    expect([verdictOf(later, 900), verdictOf(later, 900, 915)]).toEqual([undefined, undefined]);
  });

  it('believes no change of another record', () => {
    expect([verdictOf(change, 890), verdictOf(change, undefined), verdictOf(change, 890, 905)]).toEqual(
      Array(3).fill('old'),
    );
  });

  it('believes no change of one that was deleted after it was made', () => {
    const succession = new Succession(new VirtualClock());
    succession.graves.add('hw-a', 908);
    expect(succession.verdict(change, '{}', { ...unknown, guessed: 900 })).toBe('old');
  });
});
