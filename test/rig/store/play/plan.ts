// What a seed makes of a history: what each client does one after the other, and what befalls the store meanwhile. All of it is data; what a client
// knows when it acts is not part of it.
import { Chance } from '../../play/random.ts';
import type { Promises } from '../history.ts';
import type { Moment, Whom } from '../subjects/subject.ts';

export type Step =
  /** `expect`: what the client believes of the key. `known` may be out of date, which makes a conflict. */
  | { do: 'write'; key: string; expect: 'absent' | 'known' | 'stale' | 'any'; isDelete: boolean }
  | { do: 'get'; key: string; isFresh: boolean }
  /** A fresh read of what somebody has just written, and what memory has of it then. */
  | { do: 'chase' }
  /** Makes a key again that somebody is about to remove. */
  | { do: 'remake' }
  /** Makes a key and removes it at once, so that another replica may hear of both too late. */
  | { do: 'flicker'; key: string }
  /** Waits for that, and makes the key again before it may be heard. */
  | { do: 'ambush' }
  | { do: 'list'; prefix: string; at: 'now' | 'old' | 'future' }
  /** All pages at the revision of the first, with `between` other steps of other clients in between. */
  | { do: 'pages'; prefix: string; limit: number; between: number }
  | { do: 'watch'; prefix: string; from: 'now' | 'old' | 'start' | 'future' }
  | { do: 'unwatch' }
  | { do: 'bookmark' }
  | { do: 'revision' }
  | { do: 'compact'; keep: number }
  | { do: 'wait'; turns: number };

/** Strikes when the nth question is asked, or answered, or with the first answer since then to a write, or to a delete, that has succeeded, or when a key begins to flicker, or an ambush makes it again. */
export interface Blow {
  does: 'kill' | 'fill' | 'makeRoom' | 'cut' | 'freeze' | 'lag';
  nth: number;
  at: 'call' | 'return' | 'written' | 'deleted' | 'flicker' | 'ambush';
  /** A question takes a while to be heard: at once, none of those that are open has happened. */
  laterMs: number;
  /** When a kill ends the process, or a freeze stops it. Absent = now. */
  moment?: Moment;
  whom?: Whom;
  /** For how long a process that is frozen stands still, or its stream lags. */
  forMs?: number;
}

export interface Plan {
  seed: number;
  /** Every so manieth value of a client is long, so that pages and what a watch hands out at a time end by their bytes. Absent = none. */
  longEvery?: number;
  clients: Step[][];
  blows: Blow[];
  /**
   * What comes last, before everything is read once more. `burst`: more than a store keeps at hand for its watches. `forgotten`: the newest change is a
   * delete, nothing before it can be read, and a store that can be killed is.
   */
  end?: 'burst' | 'forgotten';
}

/** One is the beginning of another, so that a prefix which is a whole key covers more than that key. */
export const keys = ['/a/1', '/a/10', '/a/2', '/b/1', '/b/2'] as const;
const prefixes = ['/', '/', '/a/', '/b/', '/a/1'] as const;
const shareLong = 0.3;
const shareCut = 0.5;
const shareKilled = 0.3;
/** Of the kills. */
const shareUnanswered = 0.5;
const shareFull = 0.2;
const shareFrozen = 0.15;
/** Shorter and longer than a replica may hear nothing and still believe that it is up to date. */
const stillMs = [50, 400, 400, 6_000] as const;
const shareSly = 0.3;
const shareFlickering = 0.3;
const shareAmbushed = 0.6;
/** Two writes take less, also on a busy machine. */
const flickerLagMs = 250;
const shareChased = 0.3;
const shareEnded = 0.4;

export function planOf(seed: number, promises: Promises): Plan {
  const chance = new Chance(seed, 'store');
  const drawn = Array.from({ length: chance.between(2, 5) }, () =>
    Array.from({ length: chance.between(8, 24) }, () => stepOf(chance)),
  );
  // Only a replica whose memory may be behind has something to catch up with.
  const clients = promises.areReadsFresh ? drawn : withChases(drawn, new Chance(seed, 'store chase'));
  const count = clients.reduce((sum, steps) => sum + steps.length, 0);
  const nth = () => chance.between(Math.floor(count / 4), Math.floor((count * 3) / 4));
  const blow = (does: Blow['does'], at: number): Blow => ({
    does,
    nth: at,
    at: chance.pick(['call', 'return'] as const),
    laterMs: chance.pick([0, 0, 2, 5, 10, 20]),
  });
  const blows: Blow[] = [];
  if (chance.isHit(shareKilled) && promises.canBeKilled)
    for (let times = chance.between(1, 2); times > 0; times--) blows.push(blow('kill', nth()));
  else if (chance.isHit(shareFull) && promises.canBeFull) {
    const first = nth();
    blows.push(blow('fill', first), blow('makeRoom', first + chance.between(4, 15)));
  }
  // Drawn apart, so that the rest of a seed is what it was.
  const unanswered = new Chance(seed, 'store unanswered');
  for (const one of blows) if (one.does === 'kill' && unanswered.isHit(shareUnanswered)) one.moment = 'after a write';
  const length = new Chance(seed, 'store length');
  if (promises.canBeCut && new Chance(seed, 'store cut').isHit(shareCut))
    blows.push(blow('cut', nth()), blow('cut', nth()));
  const frozen = new Chance(seed, 'store freeze');
  if (promises.canBeCut && frozen.isHit(shareFrozen))
    blows.push({
      ...blow('freeze', frozen.between(Math.floor(count / 4), Math.floor((count * 3) / 4))),
      forMs: frozen.pick(stillMs),
    });
  const sly = new Chance(seed, 'store moment');
  if (promises.canBeKilled && sly.isHit(shareSly)) {
    const at = sly.between(Math.floor(count / 4), Math.floor((count * 3) / 4));
    blows.push({ laterMs: 0, nth: at, at: 'return', ...(promises.canBeCut ? slyBlow(sly) : ofOneProcess) });
  }
  const flicker = new Chance(seed, 'store flicker');
  if (promises.canBeCut && flicker.isHit(shareFlickering)) {
    addFlicker(clients, flicker);
    blows.push({ does: 'lag', laterMs: 0, nth: 0, at: 'flicker', forMs: flickerLagMs });
    if (flicker.isHit(shareAmbushed)) blows.push({ laterMs: 0, nth: 0, at: 'ambush', ...blowAtAmbush(flicker) });
  }
  const last = new Chance(seed, 'store end');
  return {
    ...{ seed, clients, blows },
    ...(length.isHit(shareLong) && { longEvery: length.between(1, 3) }),
    ...(last.isHit(shareEnded) && { end: last.pick(['burst', 'forgotten'] as const) }),
  };
}

/** The answer is out, and nothing else. */
const ofOneProcess = { does: 'kill', at: 'written' } as const;

/** At moments that are seldom met, and on whom the others leave alone. */
function slyBlow(chance: Chance): Partial<Blow> & Pick<Blow, 'does'> {
  return chance.weigh<Partial<Blow> & Pick<Blow, 'does'>>([
    [3, { does: 'freeze', moment: 'after a host write', forMs: chance.pick(stillMs) }],
    [3, { does: 'kill', moment: chance.pick(['after a host write', 'before a beat'] as const) }],
    [2, { does: 'kill', moment: 'before a beat', whom: 'other' }],
    [2, { does: 'kill', at: 'written', whom: 'both' }],
    [2, { does: 'kill', moment: chance.pick(['after a host write', 'before a beat'] as const), whom: 'both' }],
    [2, { does: 'cut', at: 'deleted' }],
  ]);
}

/** Of two clients that talk to two replicas, about where both are as far. */
function addFlicker([one = [], other = []]: Step[][], chance: Chance): void {
  const key = chance.pick(keys);
  const at = chance.whole(Math.min(one.length, other.length));
  const gone: Step = { do: 'write', key, expect: 'any', isDelete: true };
  one.splice(at, 0, gone, { do: 'flicker', key });
  other.splice(at, 0, { do: 'ambush' });
}

/** While nobody but those that are struck can say that the record is no copy. */
function blowAtAmbush(chance: Chance): Partial<Blow> & Pick<Blow, 'does'> {
  return chance.weigh<Partial<Blow> & Pick<Blow, 'does'>>([
    [2, { does: 'cut' }],
    [1, { does: 'kill' }],
    [1, { does: 'kill', moment: 'before a beat', whom: 'other' }],
    [1, { does: 'kill', moment: 'before a beat', whom: 'both' }],
    [1, { does: 'kill', moment: 'after a write', whom: 'both' }],
  ]);
}

function withChases(clients: Step[][], chance: Chance): Step[][] {
  return clients.map((steps) =>
    steps.flatMap((step): Step[] =>
      chance.isHit(shareChased) ? [step, { do: chance.pick(['chase', 'remake'] as const) }] : [step],
    ),
  );
}

function stepOf(chance: Chance): Step {
  const key = chance.pick(keys);
  const prefix = chance.pick(prefixes);
  return chance.weigh<Step>([
    [30, { do: 'write', key, expect: chance.pick(['known', 'known', 'absent']), isDelete: chance.isHit(0.2) }],
    [12, { do: 'write', key, expect: chance.pick(['any', 'stale']), isDelete: chance.isHit(0.3) }],
    [8, { do: 'get', key, isFresh: chance.isHit(0.5) }],
    [7, { do: 'list', prefix, at: chance.pick(['now', 'now', 'now', 'old', 'old', 'old', 'future']) }],
    [6, { do: 'pages', prefix, limit: chance.between(1, 2), between: chance.between(0, 6) }],
    [10, { do: 'watch', prefix, from: chance.pick(['now', 'old', 'old', 'start', 'future']) }],
    [2, { do: 'unwatch' }],
    [6, { do: 'bookmark' }],
    [4, { do: 'revision' }],
    [3, { do: 'compact', keep: chance.between(0, 20) }],
    [12, { do: 'wait', turns: chance.between(1, 8) }],
  ]);
}
