// Whether a key authenticates at all, and which scopes are in force for it.
import type { MatrixCase, MatrixKey, MatrixScope } from '../matrix-case.ts';
import { firstThatApplies, type Sentence } from './sentence.ts';
import { subjectExists, subjectIsDisabled } from './subject.ts';

interface LifeQuestion {
  key: MatrixKey;
  of: MatrixCase;
}

export const deaths: readonly Sentence<LifeQuestion>[] = [
  {
    text: 'D 2.9: a key with a deletionTimestamp does not authenticate',
    applies: ({ key }) => key.deletionTimestamp !== undefined,
  },
  {
    text: 'R 5.2: a key with spec.disabled true does not authenticate even though it exists',
    applies: ({ key }) => key.disabled === true,
  },
  {
    text: 'R 5.3, N 12: a key expires ttl seconds after its creation, and at exactly that time it is refused',
    applies: ({ key, of }) => countsFromCreation(key) && isOver(key.creationTimestamp, key, of),
  },
  {
    text: 'R 3, N 12: with ttlAfterLastActivity the ttl counts from lastActivity, and at exactly that time the key is refused',
    applies: ({ key, of }) => !countsFromCreation(key) && isOver(key.lastActivity ?? key.creationTimestamp, key, of),
  },
  {
    text: 'D 2.12: a subject that is missing from the configuration is suspended at once',
    applies: ({ key, of }) => !subjectExists(key, of.configuration),
  },
  {
    text: 'D 3.4: subject gone: refused on the next request (a disabled user)',
    applies: ({ key, of }) => subjectIsDisabled(key, of.configuration),
  },
  {
    text: 'N madeBy: the key lives only while its maker does (the maker is gone)',
    applies: ({ key, of }) => key.madeBy !== undefined && makerOf(key, of) === undefined,
  },
  {
    text: 'N madeBy: no key can have made its own maker, so a chain that returns to a key has no maker that lives',
    applies: ({ key, of }) => chainReturns(key, of),
  },
  {
    text: 'D 2.10, N madeBy: keys made by a scoped key die with it',
    applies: ({ key, of }) => {
      const maker = makerOf(key, of);
      return maker !== undefined && deathOf(maker, of) !== undefined;
    },
  },
];

/** D 3.3: "ttlAfterLastActivity without activity counts from creation". */
function countsFromCreation(key: MatrixKey): boolean {
  return key.ttlAfterLastActivity !== true || key.lastActivity === undefined;
}

/** N 12: "a request at exactly creation (or last activity) plus ttl is refused. ttl 0 and absent never expire." */
function isOver(from: string, key: MatrixKey, of: MatrixCase): boolean {
  if (key.ttl === undefined || key.ttl === 0) return false;
  return Date.parse(of.now) >= Date.parse(from) + key.ttl * 1000;
}

function makerOf(key: MatrixKey, of: MatrixCase): MatrixKey | undefined {
  return of.keys.find((candidate) => candidate.name === key.madeBy);
}

/** The sentence that refuses the key, or nothing for a live key. */
export function deathOf(key: MatrixKey, of: MatrixCase): string | undefined {
  return firstThatApplies(deaths, { key, of });
}

/** A chain with more steps than there are keys has met one of them twice. */
function chainReturns(key: MatrixKey, of: MatrixCase): boolean {
  let at: MatrixKey | undefined = key;
  for (let step = 0; step <= of.keys.length && at !== undefined; step++) at = makerOf(at, of);
  return at !== undefined;
}

/** D 2.4: "A credential carries a list of scopes that must all allow (its own, its issuer's, …)." For live keys only. */
export function scopesInForce(key: MatrixKey, of: MatrixCase): MatrixScope[] {
  const own = key.scope === undefined ? [] : [key.scope];
  const maker = makerOf(key, of);
  return maker === undefined ? own : [...own, ...scopesInForce(maker, of)];
}
